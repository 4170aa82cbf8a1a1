# nadir evaluate at radius 0: values, bounds, every JSON key, options and defaults of the ball, errors.
source "$(dirname "$0")/../support/cli.sh"

run generate riverswim river.npz --quiet
run generate machine machine.npz --quiet
for backend in auto lapack klu krylov; do
    run evaluate river.npz --policy uniform --radius 0 --backend $backend --json
    expect_status 0
    expect_no_err
    expect_number nominal_return 536.031320562
    expect_number robust_return 536.031320562
    expect_json penalty 0
    expect_json certified true
    expect_json certificate '"rigorous"'
    [[ $backend == auto ]] || expect_json backend "\"$backend\""
done
run evaluate machine.npz --policy uniform --radius 0 --json
expect_number nominal_return -27.7660212278

# Every key of the contract, and the bounds around the value.
for key in nominal_return robust_return penalty lower_bound upper_bound gap certified certificate kappa set norm \
    radius domain method stop_reason iterations solves breakdown_radius valid_radius kernel_min kernel_valid \
    backend states rows nonzeros model_sha256 policy_sha256 seconds load nominal robust certify total; do
    expect_out "\"$key\": "
done
expect_json kappa null
expect_json breakdown_radius null
expect_json kernel_min 0
expect_json kernel_valid true
expect_json radius 0
expect_json set '"nonrect"'
expect_json norm 2
expect_json domain '"simplex"'
bounds=$(sed -n 's/^  "\(lower_bound\|robust_return\|upper_bound\)": \(.*\),$/\2/p' stdout.txt | tr '\n' ' ')
read -r value lower upper <<<"$bounds"
awk -v l="$lower" -v v="$value" -v u="$upper" 'BEGIN { exit !(l <= v && v <= u && u - l < 1e-9) }' ||
    complain "bounds $bounds"

# The ball is named, and its norm decides the valid radius.
run evaluate river.npz --policy uniform --radius 0 --norm inf --set sa --domain free --json
expect_json norm '"inf"'
expect_json set '"sa"'
expect_json domain '"free"'
run generate random dense.npz --states 5 --actions 2 --quiet
run evaluate dense.npz --policy uniform --radius 0 --norm 1 --json
one=$(number valid_radius)
run evaluate dense.npz --policy uniform --radius 0 --json
two=$(number valid_radius)
[[ $one != "$two" ]] || complain "the valid radius does not depend on the norm"
expect_json kernel_valid true
[[ $(number kernel_min) != 0 ]] || complain "a dense kernel has no zero"

# So close to 1 rounding alone keeps the bounds apart, and nothing is called certified.
run evaluate river.npz --policy uniform --radius 0 --discount 0.9999999999 --json
expect_status 0
expect_json certified false
expect_json certificate '"none"'

# Text.
run evaluate river.npz --policy uniform --radius 0
expect_status 0
expect_no_err
expect_out "  return         536.0313205"
expect_out "  certified      yes"
expect_out "  ball           nonrect, norm 2, domain simplex"

# Policies: a file that does not fit, and a file called uniform.
printf 'idstate,idaction,probability\n0,7,1\n' >bad.csv
expect_failure 3 "bad.csv:2" evaluate river.npz --policy bad.csv --radius 0
expect_failure 3 "nosuch.csv" evaluate river.npz --policy nosuch.csv --radius 0
run solve river.npz --out uniform --quiet
run evaluate river.npz --policy ./uniform --radius 0 --json
expect_number robust_return 10577.7677937

# Usage.
expect_failure 2 "--policy FILE|uniform|optimal is needed" evaluate river.npz --radius 0
expect_failure 2 "--radius is needed" evaluate river.npz --policy uniform
expect_failure 2 "the radius is 0.1; this version evaluates at radius 0" evaluate river.npz --policy uniform --radius 0.1
expect_failure 2 "the radius is -1; expected 0 or more" evaluate river.npz --policy uniform --radius -1
expect_failure 2 "norm" evaluate river.npz --policy uniform --radius 0 --norm 0.5
expect_failure 2 "expected nonrect|s|sa" evaluate river.npz --policy uniform --radius 0 --set rect
expect_failure 2 "unknown option --kernel" evaluate river.npz --policy uniform --radius 0 --kernel out.npz
expect_failure 4 "expected 0 <= discount < 1" evaluate river.npz --policy uniform --radius 0 --discount 1
run evaluate river.npz --policy uniform --radius 0.1 --json
expect_status 2
expect_json exit_code 2
expect_json status '"NADIR_ERROR_UNSUPPORTED"'

run convert river.npz plain.csv --quiet
expect_failure 3 "no discount; give one with --discount" evaluate plain.csv --policy uniform --radius 0
finish
