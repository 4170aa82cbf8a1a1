# Policies in files: where model and file have names, these count, not the numbers, which follow the order of a log.
source "$(dirname "$0")/../support/cli.sh"

# One process, its states and actions as two tables have them.
cat >first.csv <<'END'
from,a,to,p,r
a,x,a,0.9,1
a,x,b,0.1,1
a,y,a,0.1,0
a,y,b,0.9,0
b,x,a,0.5,0
b,x,b,0.5,0
b,y,a,0.2,5
b,y,b,0.8,5
END
(head -n 1 first.csv && tail -n +2 first.csv | tac) >second.csv
run convert first.csv first.npz --discount 0.9 --quiet
run convert second.csv second.npz --discount 0.9 --quiet
run solve first.npz --out best.csv --quiet
returned() {
    run evaluate "$1" --policy "$2" --radius 0 --json
    expect_status 0
    number nominal_return
}
own=$(returned first.npz best.csv)
[[ $(returned second.npz best.csv) == "$own" ]] || complain "expected $own: names count"
sed 's/,"[^"]*"//g; s/,state_name,action_name//' best.csv >numbers.csv
[[ $(returned first.npz numbers.csv) == "$own" ]] || complain "expected $own: numbers alone"
[[ $(returned second.npz numbers.csv) != "$own" ]] || complain "the models do not differ in their numbers"
sed '1!s/"[^"]*"//g' best.csv >empty.csv
[[ $(returned first.npz empty.csv) == "$own" ]] || complain "expected $own: empty names"

# Names that do not fit are refused.
sed 's/"a"/"c"/' best.csv >wrong.csv
expect_failure 3 '`state_name` is `c`, which the model does not have; it has `b`, `a`' \
    evaluate second.npz --policy wrong.csv --radius 0
sed 's/"y"/"z"/' best.csv >wrong.csv
expect_failure 3 '`action_name` is `z`, which the model does not have; it has `y`, `x`' \
    evaluate second.npz --policy wrong.csv --radius 0
(cat best.csv && sed -n 's/^0\(.*\)"a"/1\1"a"/p' best.csv) >twice.csv
expect_failure 3 "was given already in line 2" evaluate second.npz --policy twice.csv --radius 0

# A model without names takes the numbers.
run generate random plain.npz --states 2 --actions 2 --seed 4 --quiet
[[ $(returned plain.npz best.csv) == $(returned plain.npz numbers.csv) ]] || complain "numbers of a model without names"

# Logs number names as they appear: a policy that one log chose, for the other, whose patients come in another order.
awk 'BEGIN { srand(3); print "patient,state,action,reward,next_state,done"
    for (i = 0; i < 300; i++) { s = rand() < 0.5 ? "ill" : "weak"
        for (t = 0; t < 5; t++) { a = rand() < 0.5 ? "wait" : "treat"
            p = a == "treat" ? 0.3 : 0.7; n = rand() < p ? (s == "ill" ? "weak" : "ill") : s
            d = rand() < 0.2; print i "," s "," a "," (s == "weak" ? 3 : 0) - (a == "treat") "," (d ? "home" : n) "," d
            if (d) break; s = n } } }' >log.csv
(head -n 1 log.csv && tail -n +2 log.csv | sort -t, -k1,1nr -s | sed 's/^\([0-9]*\)/p\1/') >again.csv
run fit log.csv --columns episode=patient --discount 0.9 --policy-out chosen.csv --quiet
expect_status 0
[[ $(cat chosen.csv) != *home* && $(cat chosen.csv) != *terminal* ]] || complain "an end is written: $(cat chosen.csv)"
sed 's/,"[^"]*"//g; s/,state_name,action_name//' chosen.csv >bare.csv
names() {
    sed -n 's/.*"\(ill\|weak\)","\(wait\|treat\)"$/\1 \2/p' "$1" | sort
}
run fit again.csv --columns episode=patient --discount 0.9 --policy chosen.csv --policy-out echo.csv --quiet
expect_status 0
[[ -n $(names chosen.csv) && $(names echo.csv) == "$(names chosen.csv)" ]] || complain "another policy: $(cat echo.csv)"
finish
