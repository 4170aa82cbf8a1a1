# nadir evaluate with several policies: the table, the JSON of each, the difference of two, what does not go together.
source "$(dirname "$0")/../support/cli.sh"

run generate riverswim river.npz --quiet
run generate random dense.npz --states 6 --actions 3 --quiet
run solve river.npz --out best.csv --quiet

# Each as if it were alone.
run evaluate river.npz --policy uniform --radius 0.01 --domain support --json
expect_status 0
alone=$(number robust_return)
lower=$(number lower_bound)
digest=$(sed -n 's/^  "policy_sha256": \(.*\),$/\1/p' stdout.txt)
run evaluate river.npz --policy best.csv --policy=uniform --policy optimal --radius 0.01 --domain support --json
expect_status 0
expect_no_err
expect_json policy '"best.csv"'
[[ $(grep -c '^      "policy": ' stdout.txt) == 3 ]] || complain "expected three policies"
[[ $(grep -c '^      "certified": ' stdout.txt) == 3 ]] || complain "expected three answers"
second=$(sed -n '/^      "policy": "uniform"/,/^    }/p' stdout.txt)
for key in policy_sha256 nominal_return robust_return penalty lower_bound upper_bound certified certificate bound; do
    [[ $second == *"\"$key\": "* ]] || complain "no $key"
done
[[ $second == *"\"policy_sha256\": $digest"* ]] || complain "another digest than $digest"
value() {
    printf '%.12g' "$(sed -n "s/^ *\"$1\": \([^,]*\),\{0,1\}\$/\1/p" <<<"$second")"
}
[[ $(value robust_return) == "$alone" ]] || complain "expected $alone for uniform"
[[ $(value lower_bound) == "$lower" ]] || complain "expected the lower bound $lower for uniform"
! grep -q '"difference"' stdout.txt || complain "nobody asked for a difference"

# One policy: nothing new.
run evaluate river.npz --policy uniform --radius 0.01 --json
! grep -q '"policies"' stdout.txt || complain "there is one policy only"

# The table.
run evaluate river.npz --policy best.csv --policy uniform --radius 0 --quiet
expect_status 0
expect_out "Worst case   best.csv does best: 10578   proven"
! grep -q "^Next" stdout.txt || complain "at radius 0 there is no more to ask"
expect_out "  policy    guaranteed   found  nominal  proven"
expect_out "  best.csv       10578   10578    10578  yes"
expect_out "  uniform       536.03"
run evaluate river.npz --policy best.csv --policy uniform --radius 0.01 --optimistic --quiet
expect_out "Best case  "
expect_out "  policy    guaranteed   found  nominal  proven"

# Where the bounds of two policies overlap it is not said that one does best, until a proof tells them apart.
cat >pump.csv <<'END'
state,action,next_state,probability,reward
new,run,new,0.85,100
new,run,used,0.15,100
used,run,used,0.7,90
used,run,worn,0.3,90
used,service,new,0.9,60
used,service,used,0.1,60
worn,run,worn,0.6,60
worn,run,broken,0.4,60
worn,service,used,0.8,30
worn,service,worn,0.2,30
broken,replace,new,1,-250
END
printf 'state,action\nnew,run\nused,run\nworn,service\nbroken,replace\n' >a.csv
printf 'state,action\nnew,run\nused,service\nworn,service\nbroken,replace\n' >b.csv
printf 'idstate,idaction,value\nnew,run,1\nused,run,1\nused,service,1\nworn,run,1\nworn,service,1\nbroken,replace,0\n' >scales.csv
pump=(pump.csv --discount 0.97 --initial new --scales scales.csv --norm 1)
run evaluate "${pump[@]}" --radius 0.2 --policy a.csv --policy b.csv --quiet
expect_status 0
expect_out "Undecided    which does best: b.csv, 2263.1, or a.csv, 2142.1 to 2315.3"
expect_out "Why          the proven bounds overlap"
expect_out "Try          --certify strict"
expect_out "Next         nadir evaluate pump.csv "
expect_out " --policy a.csv --policy b.csv --difference"
run evaluate "${pump[@]}" --radius 0.2 --policy a.csv --policy b.csv --certify off --quiet
expect_out "Undecided    which does best: b.csv, 2263.1, or a.csv, 2006.2 to 2315.3"
expect_out "Why          no proof was asked for (--certify off)"
run evaluate "${pump[@]}" --radius 0.2 --policy a.csv --policy b.csv --certify strict --time 1e-4 --quiet
expect_out "Undecided    which does best: b.csv, 2263.1, or a.csv, "
expect_out "Why          the time for the proof was up"
expect_out "Try          --time 60"
run evaluate "${pump[@]}" --radius 0.2 --policy a.csv --certify strict --time 1e-4 --quiet
expect_out "Why          the time for the proof was up, 0.0001 seconds"
expect_out "Try          --time 60, "
run evaluate "${pump[@]}" --radius 0.2 --policy a.csv --policy b.csv --policy optimal --set sa --quiet
expect_out "Worst case   b.csv and optimal do equally well, and best: 2133.1   proven"
expect_out "Next         nadir optimize pump.csv "
run evaluate "${pump[@]}" --radius 0.2 --policy b.csv --policy b.csv --quiet
expect_out "Worst case   all policies do equally well: 2263.1   proven"

# The difference, certified here; worse than nominal, better than worst and best apart.
run evaluate river.npz --policy best.csv --policy uniform --radius 0.01 --difference --kernel k.npz --json
expect_status 0
expect_no_err
for key in nominal worst lower_bound upper_bound certified certificate bound decoupled_bound; do
    grep -q "^    \"$key\": " stdout.txt || complain "no $key of the difference"
done
part=$(sed -n '/^  "difference": {/,/^  }/p' stdout.txt)
second=$part
[[ $part == *'"certified": true'* && $part == *'"certificate": "rigorous"'* ]] || complain "not certified: $part"
awk -v n="$(value nominal)" -v w="$(value worst)" -v l="$(value lower_bound)" -v u="$(value upper_bound)" \
    -v d="$(value decoupled_bound)" \
    'BEGIN { exit !(d < l && l <= w && w <= u && u < n && u - l < 1e-6 * (n - w) && n > 10041 && n < 10042) }' ||
    complain "not in order: $part"
[[ -s k.npz ]] || complain "no kernel"
# The kernel, as a model, gives that difference to the ordinary evaluation.
run evaluate river.npz --policy best.csv --policy uniform --radius 0.01 --difference --kernel k.csv --quiet --json
worst=$(value worst)
run evaluate k.csv --discount 0.95 --policy best.csv --policy uniform --radius 0 --json
returns=$(sed -n 's/^      "nominal_return": \(.*\),$/\1/p' stdout.txt | tr '\n' ' ')
awk -v r="$returns" -v w="$worst" 'BEGIN { split(r, x, " "); d = x[1] - x[2] - w; exit !(d * d < 1e-12) }' ||
    complain "expected the difference $worst: $returns"
run evaluate river.npz --policy best.csv --policy uniform --radius 0.01 --difference --verbose
expect_status 0
expect_out "Difference   best.csv earns at least "
expect_out " more than uniform under every kernel   proven"
expect_out "  certified        yes, by a proof that includes all rounding"
expect_out "second-order; worst and best case apart give"
run evaluate river.npz --policy uniform --policy best.csv --radius 0.01 --difference
expect_status 0
[[ $out =~ "Difference   uniform can earn "[0-9.]+" less than best.csv under the same kernel, and no more than that   proven" ]] ||
    complain "who can fall behind is not said"
run evaluate river.npz --policy uniform --policy uniform --radius 0.3 --difference --json
grep -q '^    "worst": 0,' stdout.txt || complain "the difference of a policy from itself"

# What moves it: the rows add up to nominal less worst, and to best less nominal.
for best in "" --optimistic; do
    run evaluate river.npz --policy best.csv --policy uniform --radius 0.05 --difference --explain --json $best
    expect_status 0
    awk -F': ' '/^  "difference"/ { inside = 1 } inside && /"nominal"/ { nominal = $2 } inside && /"worst"/ { worst = $2; inside = 0 }
        /"explain"/ { rows = 1 } rows && /"penalty"/ { sum += $2 } END { d = nominal - worst - sum; exit !(d * d < 1e-12 * sum * sum) }' stdout.txt ||
        complain "the rows do not add up to the change of the difference"
done
run evaluate river.npz --policy best.csv --policy uniform --radius 0.05 --explain-rows 2 --difference
expect_status 0
expect_out "What moves the difference (12 rows change; shares add up to nominal less worst):"
expect_out "10 other rows"

# Refusals.
expect_failure 2 "--explain is for one policy, or for --difference" evaluate river.npz --policy uniform --policy optimal \
    --radius 0.1 --explain
expect_failure 2 "--explain-plot is for one policy" evaluate river.npz --policy uniform --policy optimal --radius 0.1 \
    --difference --explain-plot d.svg
expect_failure 2 "exactly two policies" evaluate river.npz --policy uniform --radius 0.1 --difference
expect_failure 2 "exactly two policies" evaluate river.npz --policy uniform --policy optimal --policy best.csv \
    --radius 0.1 --difference
expect_failure 2 "--kernel is for one policy" evaluate river.npz --policy uniform --policy optimal --radius 0.1 \
    --kernel k2.npz
expect_failure 2 "--witness is for one policy" evaluate river.npz --policy uniform --policy optimal --radius 0.1 \
    --witness w.json
expect_failure 2 "--witness is for one policy" evaluate river.npz --policy uniform --policy optimal --radius 0.1 \
    --difference --witness w.json
[[ ! -e k2.npz && ! -e w.json ]] || complain "files of a refused request"
expect_failure 4 "breakdown is at" evaluate dense.npz --policy uniform --policy optimal --radius 50 --domain free \
    --difference
expect_failure 4 "policy uniform:" evaluate dense.npz --policy uniform --policy optimal --radius 50 --domain free
expect_failure 2 "nothing finite can be proven" evaluate dense.npz --policy uniform --policy optimal --radius 0.15 \
    --set sa --domain free --difference
expect_failure 3 "policy nosuch.csv:" evaluate river.npz --policy uniform --policy nosuch.csv --radius 0
many=()
for ((i = 0; i < 65; i++)); do
    many+=(--policy uniform)
done
expect_failure 2 "at most 64" evaluate river.npz "${many[@]}" --radius 0
expect_failure 2 "--radius is given twice" evaluate river.npz --policy uniform --radius 0 --radius 1
expect_failure 2 "expected something" evaluate river.npz --policy "" --radius 0
finish
