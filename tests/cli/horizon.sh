# nadir evaluate, sweep and solve with --horizon: numbers, files, what does not go together.
source "$(dirname "$0")/../support/cli.sh"

run generate machine machine.npz --quiet
run generate riverswim river.npz --quiet

# The best policies by step; evaluated, they are worth what solve says, also as "optimal".
run solve machine.npz --horizon 7 --discount 1 --out steps.npy --json
expect_status 0
expect_json horizon 7
optimum=$(number nominal_optimum)
for policy in steps.npy optimal; do
    run evaluate machine.npz --policy $policy --horizon 7 --discount 1 --radius 0 --json
    expect_status 0
    expect_json certified true
    expect_json bound '"nominal"'
    expect_json policy_sha256 null
    [[ $(number nominal_return) == "$optimum" ]] || complain "$policy: expected $optimum"
done

# A sweep is one radius after another.
run evaluate river.npz --policy uniform --horizon 12 --radius 0.05 --domain support --json
expect_status 0
expect_json certified true
expect_json horizon 12
alone=$(number robust_return)
run sweep river.npz --policy uniform --horizon 12 --radius 0:0.05:3 --domain support --json
expect_status 0
expect_json horizon 12
last=$(sed -n 's/^ *"robust_return": \([^,]*\),*$/\1/p' stdout.txt | tail -1)
[[ $(printf '%.12g' "$last") == "$alone" ]] || complain "expected $alone at the end of the curve"

# What is not proven is not put down to kernels that never end: horizons are finite.
run evaluate machine.npz --policy uniform --horizon 20 --radius 0.3 --certify strict --quiet
expect_out "not proven"
expect_out "Why          the strict proof ended after "
! grep -q "never end\|radius below 0" stdout.txt || complain "a horizon has an end"
run evaluate machine.npz --policy uniform --horizon 20 --radius 0.3 --json --quiet
! grep -q '"trap_radius\|"duration' stdout.txt || complain "durations of a horizon"

# The worst kernel, written as a model, has the worst return.
run evaluate river.npz --policy uniform --horizon 12 --radius 0.05 --domain support --kernel-model worst.npz --quiet
expect_status 0
run evaluate worst.npz --policy uniform --horizon 12 --radius 0 --json
[[ $(number nominal_return) == "$alone" ]] || complain "expected $alone of the worst kernel"

# What is refused, and how.
run evaluate river.npz --policy uniform --radius 0.1 --discount 1
expect_status 4
expect_err "no state ends the process"
run solve river.npz --discount 1 --out best.csv
expect_status 4
run evaluate river.npz --policy uniform --radius 0.1 --horizon 5 --domain free
expect_err "domains simplex and support"
for option in "--witness w.json" "--kernel k.npz" --explain "--backend klu" "--method newton"; do
    # shellcheck disable=SC2086
    run evaluate river.npz --policy uniform --radius 0.1 --horizon 5 $option
    expect_status 2
    expect_err "--horizon and ${option%% *} cannot both be given"
done
run evaluate river.npz --policy uniform --radius 0.1 --horizon 0
expect_status 2
expect_err "expected 1 to 10000000"
run evaluate river.npz --policy steps.npy --radius 0.1 --horizon 5
expect_err "the array has shape (7, 10, 2)"
run solve river.npz --horizon 3 --out steps.csv
expect_err "written as .npy"
run evaluate machine.npz --policy uniform --radius 0.1 --horizon 10000000
expect_err "take a shorter horizon"
for command in optimize radius gradient; do
    run $command river.npz --horizon 5
    expect_status 2
    expect_err "unknown option --horizon"
done

finish
