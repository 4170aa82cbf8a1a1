# launch.sh: runs $PROGRAM on $PROCESSES processes, several on a core where there are not as many.
source "$(dirname "$0")/../support/mpi.sh"
launch "$PROCESSES" "$PROGRAM"
