# nadir sweep: interrupted, it prints the radii that are finished and keeps them; --resume goes on to the same curve.
source "$(dirname "$0")/../support/cli.sh"
memcheck && exit 77 # too slow to be interrupted in the middle

run generate garnet model.npz --states 3000 --branch 5 --seed 2 --quiet
question=(sweep model.npz --policy uniform --radius 0:0.1:9 --certify off)
# Moments until one is in the middle.
caught=
for seconds in 0.15 0.2 0.25 0.3 0.4 0.6 1 1.5 2 3 0.15 0.08 4 6; do
    rm -f kept.txt
    "$NADIR" "${question[@]}" --checkpoint kept.txt --json >stdout.txt 2>stderr.txt </dev/null &
    process=$!
    sleep "$seconds"
    kill -INT "$process" 2>/dev/null
    wait "$process"
    status=$?
    err=$(cat stderr.txt)
    last="nadir ${question[*]}, interrupted after $seconds s"
    finished=$(grep -c '"robust_return"' stdout.txt)
    if [[ $status == 7 && -s kept.txt ]] && ((finished < 9)); then
        caught=1
        break
    fi
    [[ $status == 0 || $status == 7 || $status == 130 ]] || complain "expected exit 0, 7 or 130"
done
if [[ -n $caught ]]; then
    expect_err "radii are finished; the same command with --resume kept.txt goes on"
    ((finished > 0)) || complain "$finished radii are printed"
    [[ $(wc -l <kept.txt) == $((finished + 2)) ]] || complain "$finished radii are not kept"
    before=$(sed -n 's/^ *"robust_return": \(.*\),$/\1/p' stdout.txt)
    run "${question[@]}" --resume kept.txt --json
    expect_status 0
    [[ $(grep -c '"robust_return"' stdout.txt) == 9 ]] || complain "expected nine radii"
    [[ $(sed -n 's/^ *"robust_return": \(.*\),$/\1/p' stdout.txt | head -n "$finished") == "$before" ]] || complain "other numbers"
    resumed=$(sed -n 's/^ *"robust_return": \(.*\),$/\1/p' stdout.txt)
    run "${question[@]}" --json
    paste <(echo "$resumed") <(sed -n 's/^ *"robust_return": \(.*\),$/\1/p' stdout.txt) |
        awk '($1 - $2)^2 > 1e-12 * $2^2 { exit 1 }' || complain "another curve than in one go"

    # Another question, and files that are no checkpoint.
    expect_failure 3 "of another model, policy, ball or other options" "${question[@]}" --norm 1 --resume kept.txt
    expect_failure 3 "of another model, policy, ball or other options" sweep model.npz --policy optimal --radius 0:0.1:9 \
        --certify off --resume kept.txt
    sed '3s/ [^ ]*$//' kept.txt >short.txt
    expect_failure 3 "not as it was written" "${question[@]}" --resume short.txt
    sed '3s/^0 0/0 1/' kept.txt >moved.txt
    expect_failure 3 "not as it was written" "${question[@]}" --resume moved.txt
else
    echo "never interrupted in the middle"
fi
expect_failure 3 "no checkpoint of nadir sweep" "${question[@]}" --resume model.npz
expect_failure 6 "cannot open" "${question[@]}" --resume nosuch.txt
finish
