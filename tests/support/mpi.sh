# mpi.sh: what the tests on many processes share. Source it; then: launch PROCESSES PROGRAM ARGUMENT...

if ! command -v mpirun >/dev/null; then
    echo "mpirun is missing: skipped"
    exit 77
fi
if [[ ${NADIR_VALGRIND:-0} == 1 || -n ${NADIR_SANITIZED:-} ]]; then
    echo "MPI itself does not pass memcheck and the sanitizers: skipped"
    exit 77
fi

# Containers run as root, and have few processors; a process must not keep one busy while it waits.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_NUM_THREADS=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl_vader_single_copy_mechanism=none

launch() {
    timeout 300 mpirun -n "$1" "${@:2}"
}
