# Interrupted: exit status 7 and no file (of a search: its best so far), or 0 and a whole one, whenever the signal comes.
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
enough_for_memcheck

# Strict proofs keep what they have shown so far: it is printed and written, and can be verified.
run generate garnet small.npz --states 30 --actions 3 --branch 4 --seed 2
for seconds in 2 6 18; do # the search before them fails
    interrupt_after "$seconds" evaluate small.npz --policy optimal --radius 1 --certify strict --time inf --json \
        --kernel worst.npz --witness worst.json
    expect_status 7
    [[ ! -e worst.json ]] || break
done
expect_json time_ran_out true
expect_json stop_reason '"interrupted"'
expect_json certified false
expect_err "the bounds so far"
run verify small.npz --policy optimal --kernel worst.npz --witness worst.json
expect_status 0

# Signals at random moments of work that is mostly done inside BLAS and LAPACK, on two threads: it ends soon, whole files are
# written or none, and a search leaves a checkpoint that it goes on from. The moments are shares of how long it takes.
RANDOM=20261115
run generate random dense.npz --states 350 --actions 3 --seed 4
stopped=0
resumed=0

# Sends a signal after so many microseconds and waits for the end, for a minute at most.
signal_after() {
    local signal=$1 moment=$2 process ticks
    shift 2
    last="nadir $*, SIG$signal after $moment us"
    env --default-signal=INT "$NADIR" "$@" >stdout.txt 2>stderr.txt </dev/null &
    process=$!
    sleep "$(awk -v t="$moment" 'BEGIN { print t / 1e6 }')"
    kill "-$signal" "$process" 2>/dev/null
    for ((ticks = 0; ticks < 600; ticks++)); do
        kill -0 "$process" 2>/dev/null || break
        sleep 0.1
    done
    ((ticks < 600)) || { complain "it goes on after a minute" && kill -KILL "$process"; }
    wait "$process" 2>/dev/null
    status=$?
    out=$(cat stdout.txt)
    err=$(cat stderr.txt)
    rest=$(find . -name '.out.*' -o -name '*.tmp')
    [[ -z $rest ]] || complain "this is left: $rest"
}

# Exit 0 and all files, 7 and those that say so, or 128 + the signal before the command listens to it.
signals() {
    local begun took i signal
    begun=${EPOCHREALTIME/./}
    rm -f out.*
    run "$@"
    took=$((${EPOCHREALTIME/./} - begun))
    for ((i = 0; i < 8; i++)); do
        rm -f out.*
        signal=$([[ $((i % 2)) == 0 ]] && echo INT || echo TERM)
        signal_after "$signal" $((took * RANDOM / 32768)) "$@"
        case $status in
        0) [[ -e out.npz || -e out.csv ]] || complain "no file" ;;
        7)
            stopped=$((stopped + 1))
            [[ $out == *'"NADIR_ERROR_INTERRUPTED"'* || $out == *'"stop_reason": "interrupted"'* ]] || complain "it does not say why"
            [[ ! -e out.npz || $out == *'"stop_reason": "interrupted"'* ]] || complain "a kernel was written"
            ;;
        130 | 143) [[ -z $(ls out.* 2>/dev/null) ]] || complain "killed before it listened, and yet there are files" ;;
        *) complain "expected exit 0, 7, 130 or 143" ;;
        esac
        if [[ -e out.ckpt ]]; then
            resumed=$((resumed + 1))
            run optimize dense.npz --radius 0.1 --out again.csv --resume out.ckpt --max-evaluations 3 --certify off --json
            [[ $status == 0 || $status == 5 ]] || complain "the checkpoint is no good"
        fi
    done
}
signals evaluate dense.npz --policy uniform --radius 0.1 --domain free --certify strict --threads 2 --json --kernel out.npz
signals evaluate dense.npz --policy uniform --radius 0.1 --certify strict --threads 2 --json --kernel out.npz
signals optimize dense.npz --radius 0.1 --threads 2 --json --out out.csv --checkpoint out.ckpt --checkpoint-interval 0
last="signals at random moments"
((stopped > 0)) || complain "none came in time"
((resumed > 0)) || complain "no checkpoint was found"
echo "$stopped of 24 interrupted at random moments, $resumed checkpoints resumed"
finish
