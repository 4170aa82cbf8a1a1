# What ends one process alone ends the job, with an error and without a wait: a process that is killed, one whose part
# of the file is bad, one that has no memory.
source "$(dirname "$0")/../support/cli.sh"
source "$(dirname "$0")/../support/mpi.sh"

unset NADIR_ENGINE_WATCH # it would find out first
run generate garnet garnet.npz --states 200000 --actions 3 --branch 5 --discount 0.999 --seed 5 --quiet

# Nothing of MPI is loaded without being asked for.
last="what the command is linked with"
! ldd "$NADIR" | grep -qi -e libmpi -e petsc || complain "expected neither MPI nor PETSc"

# One process is killed while all work.
if ((PROCESSES > 1)); then
    last="a killed process"
    launch "$PROCESSES" "$NADIR" evaluate garnet.npz --policy uniform --radius 0.0001 --domain free --engine petsc \
        --tolerance 1e-12 >stdout.txt 2>stderr.txt </dev/null &
    job=$!
    victim=
    for ((wait = 0; wait < 600; wait++)); do # until it is at work: mpirun itself may hang on one that never was
        victim=$(pgrep -n -f "^$NADIR evaluate garnet.npz .*--tolerance 1e-12")
        [[ -n $victim && $(awk '{ print $14 }' "/proc/$victim/stat" 2>/dev/null) -gt 15 ]] && break
        sleep 0.05
    done
    began=$SECONDS
    kill -9 "$victim"
    wait "$job"
    status=$?
    ((status != 0)) || complain "expected an error"
    ((SECONDS - began < 30)) || complain "expected no wait"
    [[ ! -s stdout.txt ]] || complain "expected no answer"
fi

# The last row, which is of the last process, does not sum to one.
if /usr/bin/python3 -c 'import numpy' 2>/dev/null; then
    /usr/bin/python3 - <<'PYTHON'
import numpy
model = dict(numpy.load("garnet.npz"))
model["P_data"][-1] += 0.5
numpy.savez("bad.npz", **model)
PYTHON
    last="a bad row of the last process"
    launch "$PROCESSES" "$NADIR" evaluate bad.npz --policy uniform --radius 0.01 --domain free --engine petsc \
        >stdout.txt 2>stderr.txt </dev/null
    status=$?
    expect_status 3
    err=$(cat stderr.txt)
    expect_err "state 199999, action 2: probabilities sum to"
    [[ ! -s stdout.txt ]] || complain "expected no answer"
fi

# The last process has little memory: if MPI and PETSc can do with that, the model cannot.
if ((PROCESSES > 1)) && [[ -z ${NADIR_SANITIZED:-} ]]; then
    last="a process without memory"
    cat >limited.sh <<'SCRIPT'
((OMPI_COMM_WORLD_RANK == PROCESSES - 1)) && ulimit -v 600000
exec "$@"
SCRIPT
    export PROCESSES
    began=$SECONDS
    launch "$PROCESSES" bash limited.sh "$NADIR" evaluate garnet.npz --policy uniform --radius 0.0001 --domain support \
        --engine petsc >stdout.txt 2>stderr.txt </dev/null
    status=$?
    ((status != 0)) || complain "expected an error"
    ((SECONDS - began < 120)) || complain "expected no wait"
    [[ ! -s stdout.txt ]] || complain "expected no answer"
    if grep -q "out of memory" stderr.txt; then
        expect_status 6
    fi
fi

finish
