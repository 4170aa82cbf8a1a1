# Long work shows a bar on a terminal, and nothing where there is none or under --quiet.
source "$(dirname "$0")/../support/cli.sh"
memcheck && exit 77 # too slow to be held at the right moment
script --quiet --command true /dev/null >/dev/null 2>&1 </dev/null || exit 77 # no terminal is to be had
run generate garnet model.npz --states 20000 --branch 8
expect_status 0

# Runs the command on a terminal, or without one, and holds it for more than a second in the middle of its
# work: long work on any machine. What it wrote is then in $err.
hold() {
    local where=$1
    shift
    last="nadir $*, held in the middle, with stderr on a $where"
    # shellcheck disable=SC2016
    local start=(bash -c 'echo $$ >process.txt; exec "$@"' bash "$NADIR" "$@")
    rm -f process.txt
    if [[ $where == terminal ]]; then
        script --quiet --return --command "${start[*]@Q} >stdout.txt" stderr.txt >/dev/null </dev/null &
    else
        "${start[@]}" >stdout.txt 2>stderr.txt </dev/null &
    fi
    local job=$!
    for ((wait = 0; wait < 1000; wait++)); do
        [[ -s process.txt ]] && break
        sleep 0.01
    done
    sleep "$pause"
    kill -STOP "$(<process.txt)" 2>/dev/null && sleep 1.3
    kill -CONT "$(<process.txt)" 2>/dev/null
    wait "$job"
    status=$?
    err=$(cat stderr.txt)
}

# It may have been held too early or too late: then again.
shown=
for pause in 0.1 0.05 0.2 0.15 0.3 0.02 0.5 1; do
    hold terminal convert model.npz out.csv --discount 0.9
    expect_status 0
    if [[ $err == *"###"*" % "* ]]; then
        shown=$pause
        break
    fi
done
[[ -n $shown ]] || complain "no bar was ever shown"
[[ $err == *$'\r\e[K'* ]] || complain "the bar was not removed"

# A sweep: one bar that only grows, with the time left and the radii that are finished.
run generate garnet wide.npz --states 4000 --branch 5 --seed 2
last="nadir sweep, on a terminal"
start=("$NADIR" sweep wide.npz --policy uniform --radius 0.01:0.2:16 --certify off --threads 1)
script --quiet --return --command "stty columns 120; ${start[*]@Q} >stdout.txt" stderr.txt >/dev/null </dev/null
status=$?
expect_status 0
tr '\r' '\n' <stderr.txt | grep -o '[0-9]* %.*' >bar.txt
if [[ $(wc -l <bar.txt) -gt 4 ]]; then # else it took less than the second that shows no bar
    sort -ns -c bar.txt 2>/dev/null || complain "the bar went back: $(cut -d' ' -f1 bar.txt | uniq | tr '\n' ' ')"
    grep -q ' left  [0-9]* of 16 radii finished' bar.txt || complain "no time left: $(tail -n 1 bar.txt)"
else
    echo "too fast for a bar"
fi

pause=${shown:-0.1}
hold pipe convert model.npz out.csv --discount 0.9 --json
expect_status 0
[[ $err != *"#"* ]] || complain "a bar without a terminal"
hold terminal convert model.npz out.csv --quiet
expect_status 0
[[ $err != *"##"* ]] || complain "a bar under --quiet"
finish
