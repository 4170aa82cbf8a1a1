# launch.sh: runs $PROGRAM on $PROCESSES processes, several on a core where there are not as many: on one machine, and as if
# each had its own.
source "$(dirname "$0")/../support/mpi.sh"
unset NADIR_ENGINE_SHARE
launch "$PROCESSES" "$PROGRAM" && NADIR_ENGINE_SHARE=0 launch "$PROCESSES" "$PROGRAM"
