# nadir optimize on several processes against one process without the engine: bounds, and the policy itself.
source "$(dirname "$0")/../support/cli.sh"
source "$(dirname "$0")/../support/mpi.sh"

run generate garnet garnet.npz --states 203 --actions 3 --branch 5 --discount 0.9 --seed 5 --quiet
for domain in support free; do
    run optimize garnet.npz --radius 0.02 --domain $domain --out one.npy --json
    expect_status 0
    cp stdout.txt alone.txt
    run_many optimize garnet.npz --radius 0.02 --domain $domain --out many.npy --json
    expect_status 0
    expect_same alone.txt 1e-9 nominal_optimum robust_return nominal_return
    expect_same alone.txt 2e-6 lower_bound optimality_upper_bound
    expect_json stop_reason "$(sed -n 's/^  "stop_reason": \(.*\),$/\1/p' alone.txt)"
    # What it is worth, by a process that has the whole model.
    run evaluate garnet.npz --policy many.npy --radius 0.02 --domain $domain --json
    expect_same alone.txt 1e-9 robust_return
done

# Rectangular sets, states with few or many actions, and a policy as CSV.
run generate inventory inventory.npz --capacity 40 --demand 30 --discount 0.9 --quiet
for ball in "--set sa --domain support" "--set s --domain support --norm 1" "--norm inf --domain support" \
    "--set s --domain free"; do
    run optimize inventory.npz --radius 0.002 $ball --out one.csv --json
    expect_status 0
    cp stdout.txt alone.txt
    run_many optimize inventory.npz --radius 0.002 $ball --out many.csv --json
    expect_status 0
    expect_same alone.txt 1e-8 nominal_optimum robust_return nominal_return
    expect_same alone.txt 2e-6 lower_bound optimality_upper_bound
    run evaluate inventory.npz --policy many.csv --radius 0.002 $ball --json
    expect_same alone.txt 1e-8 robust_return
done

run_many optimize garnet.npz --radius 0.02 --set sa --domain simplex --out many.npy
expect_status 2
expect_err "not available with an engine yet"
run_many optimize garnet.npz --radius 0.002 --set sa --domain free --method bellman --out many.npy
expect_status 2
expect_err "not available with an engine yet: method bellman"
# A search that was cut short goes on, on another number of processes, to where it would have come.
for ball in "--radius 0.3" "--radius 0.3 --set s"; do
    run optimize garnet.npz $ball --domain support --out one.npy --json
    cp stdout.txt alone.txt
    run_many optimize garnet.npz $ball --domain support --out many.npy --checkpoint run.ckpt --checkpoint-interval 0 \
        --max-evaluations 2
    expect_status 5
    PROCESSES=$((PROCESSES % 4 + 1)) run_many optimize garnet.npz $ball --domain support --out many.npy --resume run.ckpt --json
    expect_status 0
    expect_same alone.txt 1e-6 robust_return optimality_upper_bound
done
run_many optimize garnet.npz --radius 0.31 --domain support --out many.npy --resume run.ckpt
expect_status 3
expect_err "of another model, ball or method"

finish
