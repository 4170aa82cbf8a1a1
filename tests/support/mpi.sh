# mpi.sh: what the tests on many processes share. Source it; then: launch PROCESSES PROGRAM ARGUMENT...

if ! command -v mpirun >/dev/null; then
    echo "mpirun is missing: skipped"
    exit 77
fi
if [[ ${NADIR_VALGRIND:-0} == 1 ]]; then
    echo "MPI itself does not pass memcheck: skipped"
    exit 77
fi
if [[ -n ${NADIR_SANITIZED:-} ]]; then
    if ((PROCESSES != 3)); then
        echo "three processes are enough for the sanitizers: skipped"
        exit 77
    fi
    # What MPI leaks comes from modules that it has unloaded by the end: it cannot be told from anything.
    export ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0"
fi

# In brief runs two processes stand for four.
messages=4
if [[ -n ${NADIR_BRIEF:-} ]]; then
    messages=2
    if ((PROCESSES == 4)); then
        echo "two processes send messages in brief runs: skipped"
        exit 77
    fi
fi

# Containers run as root, and have few processors; a process must not keep one busy while it waits.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_NUM_THREADS=1
export OMPI_MCA_hwloc_base_binding_policy=none
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl_vader_single_copy_mechanism=none

# Three processes compare what they are about to do, which takes twice as many messages.
((PROCESSES == 3)) && export NADIR_ENGINE_WATCH=1

# These send messages, as processes on different machines do; others read each other's memory.
((PROCESSES == messages)) && export NADIR_ENGINE_SHARE=0

launch() {
    timeout 300 mpirun -n "$1" "${@:2}"
}

# Runs the command on $PROCESSES processes, as `run` does on one.
run_many() {
    last="mpirun -n $PROCESSES nadir $*"
    launch "$PROCESSES" "$NADIR" "$@" --engine petsc >stdout.txt 2>stderr.txt </dev/null
    status=$?
    out=$(cat stdout.txt)
    err=$(cat stderr.txt)
}

# The numbers of these keys in stdout.txt are those in $1, within a share of $2 of the larger of 1 and their size.
expect_same() {
    local key
    for key in "${@:3}"; do
        paste <(sed -n "s/^ *\"$key\": \([^,]*\),*\$/\1/p" "$1") <(sed -n "s/^ *\"$key\": \([^,]*\),*\$/\1/p" stdout.txt) |
            awk -v most="$2" '
                { size = $1 < 0 ? -$1 : $1; off = $1 - $2; off = off < 0 ? -off : off; lines++ }
                NF != 2 || off > most * (size > 1 ? size : 1) { bad = 1 }
                END { exit bad || lines == 0 }' || complain "$key differs from that of one process"
    done
}
