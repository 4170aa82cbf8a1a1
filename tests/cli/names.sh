# Other names of the columns of CSV files; a model where data are expected; policies that do equally well.
source "$(dirname "$0")/../support/cli.sh"

cat >plan.csv <<'END'
state,action,next_state,probability,reward
0,0,0,0.7,4
0,0,1,0.3,4
0,1,0,0.9,2
0,1,1,0.1,2
1,0,1,0.8,-3
1,0,0,0.2,-3
1,1,0,0.95,-6
1,1,1,0.05,-6
END
sed '1s/.*/idstatefrom,idaction,idstateto,probability,reward/' plan.csv >same.csv
printf 'state,action,probability\n0,0,1\n1,1,1\n' >mine.csv
run evaluate plan.csv --discount 0.9 --radius 0.1 --policy mine.csv --json
expect_status 0
digest=$(grep model_sha256 stdout.txt)
run evaluate same.csv --discount 0.9 --radius 0.1 --policy optimal --json
[[ $(grep model_sha256 stdout.txt) == "$digest" ]] || complain "another model"

run evaluate plan.csv --discount 0.9 --radius 0.1 --policy mine.csv --policy optimal
expect_out "all policies do equally well: 9.9232"
run evaluate plan.csv --discount 0.9 --radius 0.1 --policy mine.csv --policy uniform
expect_out "mine.csv does best: 9.9232"
run optimize plan.csv --discount 0.9 --radius 0.1
expect_out "none: the nominal optimum already does best in the worst case"

# Names, new transitions, where one starts, and states that look like ends.
cat >upkeep.csv <<'END'
from,a,to,p,r
new,run,new,0.9,10
new,run,worn,0.1,10
worn,run,worn,0.75,8
worn,run,broken,0.25,8
worn,service,new,1,-2
broken,rest,broken,1,0
END
run evaluate upkeep.csv --discount 0.95 --policy optimal --radius 0.07 --initial new
expect_out "Most damage  new, run: new → broken (not in the model) and 1 other move, 99 % of the loss"
expect_out "  start      new"
expect_err "1 state (broken) stays for ever without reward, but the ball may let it go on"
run evaluate upkeep.csv --discount 0.95 --policy optimal --radius 0.07 --domain support --quiet
expect_out "  start      each of the 3 states alike"
[[ ! -s stderr.txt ]] || complain "a warning on support: $(cat stderr.txt)"
run evaluate upkeep.csv --discount 0.95 --policy optimal --radius 0.07 --json --explain
expect_out '"new": true'
printf 'state,action\nnew,run\nworn,rest\n' >wrong.csv
expect_failure 3 "there is no action 2 (rest)" evaluate upkeep.csv --discount 0.95 --policy wrong.csv --radius 0.1
printf 'state,action\nnew,run\nworn,sell\n' >wrong.csv
expect_failure 3 '`action` is `sell`, which the model does not have; it has `run`, `service`, `rest`' \
    evaluate upkeep.csv --discount 0.95 --policy wrong.csv --radius 0.1

# Nothing does a damage that is none, and no radius is suggested that may be refused.
run evaluate upkeep.csv --discount 0.95 --policy optimal --radius 0
expect_out "loses 0 %"
[[ $out != *"Most damage"* ]] || complain "radius 0 does no damage"
run solve upkeep.csv --discount 0.95 --quiet
expect_out "Next         nadir evaluate"
run solve upkeep.csv --goal broken --quiet
expect_status 0
[[ $out != *Next* ]] || complain "a ball of that radius may never end"

# Ends have no lines of their own: that is no warning. A misspelt successor would be one more end, silently.
sed 's/^broken.*//' upkeep.csv | grep . >ends.csv
run evaluate ends.csv --discount 0.95 --policy optimal --radius 0.07 --initial new --json
expect_err "nadir: ends.csv: 1 state has no action (broken): terminal"
[[ $(cat stderr.txt) != *warning* ]] || complain "a file is right and is warned of"
expect_out '"warnings": []'
run info ends.csv --discount 0.95 --quiet
expect_out "  terminal       broken"
sed 's/^worn,run,worn/worn,run,worm/' ends.csv >typo.csv
run info typo.csv --discount 0.95
expect_err "nadir: typo.csv: 2 states have no action (worm, broken): terminal"
expect_err "nadir: warning: typo.csv: worm is only ever a successor and has no action, so that everything ends there; did you mean worn?"

run generate machine machine.npz --quiet
expect_failure 3 "machine.npz is a model" fit machine.npz --discount 0.9
expect_failure 2 "0.1 is a start" evaluate plan.csv --discount 0.9 --policy uniform
finish
