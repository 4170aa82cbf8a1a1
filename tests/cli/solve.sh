# nadir solve: the optimum, its bounds, the policy file, errors.
source "$(dirname "$0")/../support/cli.sh"

run generate riverswim river.npz --quiet
run generate machine machine.npz --quiet
for backend in auto lapack klu krylov; do
    run solve river.npz --out "$backend.csv" --backend $backend --json
    expect_status 0
    expect_no_err
    expect_number nominal_optimum 10577.7677937
    [[ $backend == auto ]] || expect_json backend "\"$backend\""
    cmp -s "$backend.csv" auto.csv || complain "another policy with $backend"
done
run solve machine.npz --out machine.csv --json
expect_number nominal_optimum -9.66788312962
expect_json states 10
for key in lower_bound upper_bound gap residual iterations sweeps solves products rows nonzeros discount \
    model_sha256 policy_sha256 seconds load solve total warnings; do
    expect_out "\"$key\": "
done
[[ $(grep -c . machine.csv) == 11 ]] || complain "expected one action for each state"

# Both kinds of files hold the same policy, and evaluate gives it the optimum.
run solve river.npz --out river.csv --json
digest=$(sed -n 's/^  "policy_sha256": \(.*\),$/\1/p' stdout.txt)
run solve river.npz --out river.npy --verbose
expect_status 0
expect_out "  optimum        10577.7677936"
expect_out "(stable)"
for policy in river.csv river.npy optimal; do
    run evaluate river.npz --policy $policy --radius 0 --json
    expect_status 0
    expect_number robust_return 10577.7677937
    expect_json policy_sha256 "$digest"
done

# A model without discount or rewards, and what to do about it.
run convert river.npz plain.csv --quiet
expect_failure 3 "no discount; give one, e.g. --discount 0.95" solve plain.csv --out x.csv
run solve plain.csv --out x.csv --discount 0.95 --json
expect_number nominal_optimum 10577.7677937
printf '2 2 2\n0 0 1 1\n1 0 0 1\n' >bare.tra
expect_failure 3 "no rewards; PRISM and PETSc models take them from" solve bare.tra --discount 0.9 --out y.csv
[[ ! -e y.csv ]] || complain "a failed solve left a file"

# Discount 0: the best immediate reward, and no linear system at all.
run solve river.npz --discount 0 --out now.csv --json
expect_status 0
expect_json backend null
expect_json solves 0

# Usage.
# Without a file: the first states.
run solve river.npz
expect_status 0
expect_out "Optimum      10578   without uncertainty"
expect_out "state 5    right"
expect_out "Next         nadir evaluate river.npz --policy optimal --radius 0.1"
expect_failure 2 "--backend: 'abacus' given, expected auto|lapack|klu|krylov" solve river.npz --out z.csv --backend abacus
expect_failure 2 "the tolerance is 0" solve river.npz --out z.csv --tolerance 0
expect_failure 2 "the limit of iterations 0" solve river.npz --out z.csv --iterations 0
expect_failure 6 "no/such/place" solve river.npz --out no/such/place.csv
[[ ! -e z.csv ]] || complain "a failed solve left a file"

# At the limit the best so far is given, marked so, and nothing else is on stdout.
run solve river.npz --out limit.csv --iterations 1 --tolerance 1e-16 --json
expect_status 5
expect_err "policies, the limit, were tried"
expect_json stop_reason '"iterations"'
expect_json iterations 1
[[ $(grep -c '^{$' stdout.txt) == 1 ]] || complain "expected one JSON object"
[[ -s limit.csv ]] || complain "expected a policy"

run solve river.npz --out no/such/place.csv --json
expect_json exit_code 6
finish
