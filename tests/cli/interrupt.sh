# Interrupted: exit status 7 and no file, or 0 and a whole one, whenever the signal comes.
source "$(dirname "$0")/../support/cli.sh"
if memcheck; then
    states=500
else
    states=20000
fi
run generate garnet model.npz --states "$states" --branch 8
expect_status 0

# Starts the command, sends it SIGTERM after some seconds and takes its exit status.
interrupt_after() {
    local seconds=$1
    shift
    last="nadir $*, interrupted after $seconds s"
    "$NADIR" "$@" >stdout.txt 2>stderr.txt </dev/null &
    local process=$!
    sleep "$seconds"
    kill -TERM "$process" 2>/dev/null
    wait "$process"
    status=$?
    out=$(cat stdout.txt)
    err=$(cat stderr.txt)
}

interrupted=0
for ending in csv npz tra drn MDP bin; do
    for seconds in 0.02 0.05 0.1 0.15 0.2 0.3; do
        rm -f out.*
        interrupt_after "$seconds" convert model.npz "out.$ending" --json
        found=$(ls out.* 2>/dev/null)
        case $status in
        0) [[ -n $found ]] || complain "no file" ;;
        7)
            interrupted=$((interrupted + 1))
            expect_json status '"NADIR_ERROR_INTERRUPTED"'
            [[ -z $found ]] || complain "these files are left: $found"
            ;;
        143) [[ -z $found ]] || complain "killed before it listened, and yet: $found" ;;
        *) complain "expected exit 0, 7 or 143" ;;
        esac
    done
done

# A search that would take minutes, in row problems as long as there are states, stops soon after it is asked to.
if ! memcheck; then
    run generate gridworld grid.npz --width 120 --height 120
    for options in "--set s --norm 1.5" "--set nonrect --norm 1.5"; do
        begun=$SECONDS
        # shellcheck disable=SC2086 # several words
        interrupt_after 1 evaluate grid.npz --policy uniform --radius 0.001 $options --json --kernel worst.npz
        expect_status 7
        expect_json status '"NADIR_ERROR_INTERRUPTED"'
        ((SECONDS - begun < 60)) || complain "it went on for $((SECONDS - begun)) s"
        [[ ! -e worst.npz ]] || complain "a kernel was written"
    done
fi
echo "$interrupted interrupted"
finish
