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
# A finished sweep leaves all its radii, and going on from there computes nothing. Every policy belongs to the question.
run generate machine small.npz --quiet
run solve small.npz --out one.csv
cp one.csv two.csv
question=(sweep small.npz --policy uniform --policy two.csv --radius 0:0.1:3)
run "${question[@]}" --checkpoint whole.txt --json
expect_status 0
before=$(grep '"robust_return"\|_bound"' stdout.txt)
[[ $(wc -l <whole.txt) == 8 ]] || complain "expected two policies of three radii"
run "${question[@]}" --resume whole.txt --json
expect_status 0
[[ $(grep '"robust_return"\|_bound"' stdout.txt) == "$before" ]] || complain "other numbers"
sed -i '2s/.*/0,0,1/' two.csv
cmp -s one.csv two.csv && run solve small.npz --out two.csv --costs
expect_failure 3 "of another model, policy, ball or other options" "${question[@]}" --resume whole.txt

# Killed, it has kept all radii but the last ones: those of the last seconds, or the one at hand.
run generate garnet model.npz --states 20000 --branch 5 --seed 3 --quiet
question=(sweep model.npz --policy uniform --radius 0.01:0.1:400 --certify off)
"$NADIR" "${question[@]}" --checkpoint killed.txt >stdout.txt 2>stderr.txt </dev/null &
process=$!
for ((i = 0; i < 600; i++)); do
    [[ -s killed.txt ]] && break
    kill -0 "$process" 2>/dev/null || break
    sleep 0.1
done
kill -KILL "$process" 2>/dev/null
wait "$process" 2>/dev/null
[[ -s killed.txt ]] || complain "nothing was kept while it ran"
[[ $(head -n 1 killed.txt) == "nadir-sweep 2" ]] || complain "the checkpoint is not whole"

expect_failure 3 "no checkpoint of nadir sweep" "${question[@]}" --resume model.npz
expect_failure 6 "cannot open" "${question[@]}" --resume nosuch.txt
finish
