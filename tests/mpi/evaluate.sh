# nadir evaluate and sweep on several processes against one process without the engine: every number of the answer
# within 1e-9, the worst kernel too; both solvers; files in both formats; compressed, ragged, scaled models.
source "$(dirname "$0")/../support/cli.sh"
source "$(dirname "$0")/../support/mpi.sh"

numbers=(nominal_return robust_return penalty lower_bound upper_bound valid_radius kernel_min)

# $1: a model, then options: evaluated with and without the engine.
compare() {
    run evaluate "$1" --policy uniform --json "${@:2}"
    expect_status 0
    cp stdout.txt alone.txt
    run_many evaluate "$1" --policy uniform --json "${@:2}"
    expect_status 0
    expect_same alone.txt 1e-9 "${numbers[@]}" states rows nonzeros
    expect_json certified "$(sed -n 's/^  "certified": \(.*\),$/\1/p' alone.txt)"
}

run generate garnet garnet.npz --states 503 --actions 3 --branch 5 --discount 0.95 --seed 5 --quiet
run generate gridworld grid.npz --width 11 --height 10 --discount 0.99 --quiet
run generate inventory inventory.npz --capacity 60 --demand 40 --discount 0.9 --quiet # states with few or many actions

compare garnet.npz --radius 0.05 --domain free
expect_json backend '"krylov"'
compare garnet.npz --radius 0.05 --domain support
compare garnet.npz --radius 0.05 --set sa --domain support
compare inventory.npz --radius 0.05 --set s --domain support --norm 1
compare grid.npz --radius 0.05 --domain support --norm inf
compare garnet.npz --radius 0.002 --set s --domain free
compare garnet.npz --radius 0.001 --domain free --norm inf
if ((PROCESSES == 3)); then # the others have the rest of this script
    compare garnet.npz --radius 0.03 --domain free --method bisect --optimistic
    compare garnet.npz --radius 0.03 --domain free --method best-response
    compare garnet.npz --radius 0.01 --domain free --norm 1.5
    compare grid.npz --radius 0.001 --domain free
    compare inventory.npz --radius 0.002 --domain free --initial 7
    compare garnet.npz --radius 0 --domain free
    compare grid.npz --radius 0.01 --domain support
    compare inventory.npz --radius 0.05 --set sa --domain support --norm 1.5
    compare inventory.npz --radius 0.05 --set s --domain support --norm inf --optimistic
    compare inventory.npz --radius 0.001 --set sa --domain free --norm 1
    compare grid.npz --radius 0.001 --set s --domain free --norm 3
    run generate riverswim river.npz --states 6 --discount 0.9 --quiet # hardly more states than processes
    compare river.npz --radius 0.05 --set sa --domain support --norm inf
    compare river.npz --radius 0.02 --domain support
    compare river.npz --radius 0.01 --domain free --frozen-rewards
fi

# Rewards on landing that are not separable; rows with more successors than their process has states, nobody visits 3 to 5.
cat >landing.csv <<'END'
idstatefrom,idaction,idstateto,probability,reward
0,0,0,0.5,1
0,0,1,0.25,-2
0,0,2,0.25,0
1,0,0,0.25,0
1,0,1,0.5,1
1,0,2,0.25,-2
2,0,0,0.25,3
2,0,1,0.25,0.5
2,0,2,0.5,-1
3,0,0,0.25,-4
3,0,3,0.25,2
3,0,4,0.25,0
3,0,5,0.25,2
4,0,0,0.25,3
4,0,3,0.25,-1
4,0,4,0.25,5
4,0,5,0.25,-7
5,0,0,0.25,1
5,0,3,0.25,-3
5,0,4,0.25,2
5,0,5,0.25,0
END
run convert landing.csv landing.npz --discount 0.5 --initial 0 --quiet
compare landing.npz --radius 0.02 --domain support
expect_json rewards '"landing"'
compare landing.npz --radius 0.1 --set s --domain support --norm 1
run_many evaluate landing.npz --policy uniform --radius 0.02 --domain free --json
expect_status 2

# Fewer states than processes: some have none.
run generate riverswim few.npz --states 3 --discount 0.9 --quiet
run generate inventory little.npz --capacity 2 --demand 2 --discount 0.9 --quiet
if ((PROCESSES == 4)); then
    compare few.npz --radius 0.01 --domain free --frozen-rewards
    compare few.npz --radius 0.05 --set sa --domain support --norm inf
    compare little.npz --radius 0.05 --set s --domain support --norm 1
    compare little.npz --radius 0.01 --domain free --backend krylov
    run convert few.npz few.P.bin --quiet
    compare few.P.bin --rewards few.g.bin --discount 0.9 --radius 0.01 --domain free
    run evaluate few.npz --policy uniform --radius 0.02 --domain support --json
    cp stdout.txt alone.txt
    run_many evaluate few.npz --policy uniform --radius 0.02 --domain support --json --backend petsc
    expect_status 0
    expect_same alone.txt 1e-9 robust_return penalty upper_bound
    run optimize few.npz --radius 0.02 --domain support --out one.npy --json
    cp stdout.txt alone.txt
    run_many optimize few.npz --radius 0.02 --domain support --out many.npy --json
    expect_status 0
    expect_same alone.txt 1e-9 robust_return nominal_optimum
fi

# PETSc's solver, with options of its own.
run evaluate garnet.npz --policy uniform --radius 0.05 --domain free --json
cp stdout.txt free.txt
run_many evaluate garnet.npz --policy uniform --radius 0.05 --domain free --json --backend petsc --petsc '-ksp_type gmres'
expect_status 0
expect_json backend '"petsc"'
expect_same free.txt 1e-9 "${numbers[@]}"

# The worst kernel, written by one process, passes the check of another program run.
run_many evaluate garnet.npz --policy uniform --radius 0.05 --domain free --kernel many.npz --quiet
expect_status 0
run evaluate garnet.npz --policy uniform --radius 0.05 --domain free --kernel one.npz --quiet
if /usr/bin/python3 -c 'import numpy' 2>/dev/null; then
    /usr/bin/python3 - <<'PYTHON' || complain "b or k differs from that of one process"
import numpy
one, many = numpy.load("one.npz"), numpy.load("many.npz")
assert all(abs(one[name] - many[name]).max() <= 1e-9 for name in "bk")
PYTHON
fi
run verify garnet.npz --policy uniform --kernel many.npz
expect_status 0
expect_out "Verified     all holds"

# A policy from CSV, of which each process keeps its part.
run solve inventory.npz --out optimum.csv --quiet
run evaluate inventory.npz --policy optimum.csv --radius 0.05 --set s --domain support --json
cp stdout.txt alone.txt
run_many evaluate inventory.npz --policy optimum.csv --radius 0.05 --set s --domain support --json
expect_status 0
expect_same alone.txt 1e-9 "${numbers[@]}"

# Arrays P, either way round, stored and compressed; radii of states and rows.
if /usr/bin/python3 -c 'import numpy' 2>/dev/null; then
    /usr/bin/python3 - <<'PYTHON'
import numpy
random = numpy.random.default_rng(7)
P = random.random((23, 3, 23)) * (random.random((23, 3, 23)) < 0.5) + numpy.eye(23)[:, None]
P /= P.sum(2, keepdims=True)
full = 0.2 + random.random((23, 3, 23))
full /= full.sum(2, keepdims=True)
R = random.random((23, 3))
numpy.savez("sas.npz", P=P, R=R, gamma=0.9)
numpy.savez_compressed("ass.npz", P=numpy.ascontiguousarray(P.transpose(1, 0, 2)), R=R, gamma=0.9)
numpy.savez("full.npz", P=full, R=R, gamma=0.9)
radii = 0.01 + 0.1 * random.random((23, 3))
numpy.savez("by_state.npz", P=P, R=R, gamma=0.9, set="s", radius=radii[:, 0])
numpy.savez("by_row.npz", P=P, R=R, gamma=0.9, set="sa", radius=radii)
PYTHON
    compare sas.npz --radius 0.05 --set sa --domain support
    compare ass.npz --radius 0.01 --domain free
    compare full.npz --radius 0.001 --set s --domain free # all kernels of the set are valid: a proof
    compare by_state.npz --domain support # a radius for each state, or for each row, in the model
    compare by_row.npz --domain support --norm 1
fi

# Other files: PETSc binary with rewards of its own, a compressed archive.
run convert garnet.npz garnet.P.bin --quiet
run convert garnet.npz small.npz --compress --quiet
run_many evaluate garnet.P.bin --rewards garnet.g.bin --discount 0.95 --policy uniform --radius 0.05 --domain free --json
expect_status 0
expect_same free.txt 1e-9 "${numbers[@]}"
run_many evaluate small.npz --policy uniform --radius 0.05 --domain free --json
expect_status 0
expect_same free.txt 1e-9 "${numbers[@]}"

# A sweep, with radii past breakdown.
run sweep garnet.npz --policy uniform --radius 0:0.2:5 --domain free --json
cp stdout.txt alone.txt
expect_status 0
run_many sweep garnet.npz --policy uniform --radius 0:0.2:5 --domain free --json
expect_status 0
expect_same alone.txt 1e-9 robust_return lower_bound upper_bound radius

# A sweep on domain support, the nominal optimum, and a policy from a file.
run solve garnet.npz --out optimum.npy --quiet
run sweep garnet.npz --policy optimum.npy --radius 0.01:0.03:3 --domain support --json
cp stdout.txt alone.txt
run_many sweep garnet.npz --policy optimum.npy --radius 0.01:0.03:3 --domain support --json
expect_status 0
expect_same alone.txt 1e-9 robust_return lower_bound upper_bound
run_many sweep garnet.npz --policy optimal --radius 0.01:0.03:3 --domain support --json
expect_status 0
expect_same alone.txt 1e-9 robust_return lower_bound upper_bound

# Only one process prints.
run_many evaluate garnet.npz --policy uniform --radius 0.05 --domain free
[[ $(grep -c "Worst case" stdout.txt) == 1 ]] || complain "expected one answer"

((PROCESSES == 2)) || finish

# What cannot be done is refused by all, with the right exit status; and so are mistakes.
run_many evaluate garnet.npz --policy uniform --radius 0.05 --norm 1 --domain free
expect_status 2
expect_err "not available with an engine yet"
run_many evaluate garnet.npz --policy uniform --radius 0.05 --domain simplex
expect_status 2
run_many evaluate garnet.npz --policy uniform --radius 0.05 --domain free --backend klu
expect_status 2
expect_err "krylov and petsc do"
run_many evaluate garnet.npz --policy uniform --radius 9 --domain free --json
expect_status 4
expect_err "breakdown is at"
run_many evaluate missing.npz --policy uniform --radius 0.1 --domain free
expect_status 3
printf 'idstatefrom,idaction,idstateto,probability,reward\n0,0,0,1,1\n' >small.csv
run_many evaluate small.csv --policy uniform --radius 0.1 --discount 0.9
expect_status 2
expect_err "cannot be read in parts"
run evaluate garnet.npz --policy uniform --radius 0.1 --engine nothing
expect_status 2
expect_err "there is no engine nothing"

finish
