# Bold and colour on a terminal only, and not there where NO_COLOR or TERM says so.
source "$(dirname "$0")/../support/cli.sh"
memcheck && exit 77
script --quiet --command true /dev/null >/dev/null 2>&1 </dev/null || exit 77 # no terminal is to be had
run generate machine model.npz --quiet
run solve model.npz --out policy.csv --quiet
escape=$'\e['

# on_terminal SETTING... -- COMMAND...: what it writes to a terminal is then in $out.
on_terminal() {
    local settings=()
    while [[ $1 != -- ]]; do
        settings+=("$1")
        shift
    done
    shift
    last="${settings[*]} nadir $*, on a terminal"
    local start=(env -u NO_COLOR TERM=xterm "${settings[@]}" "$NADIR" "$@")
    script --quiet --return --command "${start[*]@Q}" terminal.txt >/dev/null </dev/null
    status=$?
    out=$(grep -v '^Script ' terminal.txt)
}

for question in "evaluate model.npz --policy policy.csv --radius 0.1" "evaluate model.npz --policy policy.csv --radius 0.7" \
    "optimize model.npz --radius 0.1" "solve model.npz" "sweep model.npz --policy policy.csv --radius 0:0.1:3" \
    "radius model.npz --policy policy.csv --target -15" "gradient model.npz --policy uniform --radius 0.1" "info model.npz"; do
    # shellcheck disable=SC2086 # several words
    {
        on_terminal -- $question
        expect_status 0
        [[ $out == *"$escape"1m* ]] || complain "nothing is bold"
        coloured=$out
        for setting in NO_COLOR=1 TERM=dumb; do
            on_terminal "$setting" -- $question
            expect_status 0
            [[ $out != *"$escape"* ]] || complain "an escape sequence in spite of $setting"
        done
        [[ $(sed 's/\x1b\[[0-9;]*m//g' <<<"$coloured") == "$out" ]] || complain "other words without colour"
        on_terminal NO_COLOR= -- $question # empty: as if it were not set
        [[ $out == *"$escape"1m* ]] || complain "nothing is bold with an empty NO_COLOR"
        run $question
        expect_status 0
        [[ $out != *"$escape"* ]] || complain "an escape sequence in a pipe"
        TERM=xterm run $question --json
        [[ $out != *"$escape"* ]] || complain "an escape sequence in JSON"
    }
done

# Proven is green, not proven is not.
on_terminal -- evaluate model.npz --policy policy.csv --radius 0.1
[[ $out == *"$escape"32mproven* ]] || complain "a proof is not green"
on_terminal -- evaluate model.npz --policy policy.csv --radius 0.7
[[ $out == *"$escape"33m"not proven"* ]] || complain "what is not proven is not yellow"
finish
