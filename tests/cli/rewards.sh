# Rewards of transitions: paid on landing, frozen, and what successors without a reward pay, in every command.
source "$(dirname "$0")/../support/cli.sh"

# close KEY VALUE: a number of stdout, to 1e-8.
close() {
    awk -v a="$(number "$1")" -v b="$2" 'BEGIN { d = a - b; exit !(d < 1e-8 && d > -1e-8) }' ||
        complain "expected \"$1\": $2, found $(number "$1")"
}

# A coin that pays 1 on heads: states 1 and 2 are terminal.
cat >coin.csv <<'END'
idstatefrom,idaction,idstateto,probability,reward
0,0,1,0.5,1
0,0,2,0.5,0
END
coin=(coin.csv --discount 0.9 --initial 0 --policy uniform --quiet)
run evaluate "${coin[@]}" --radius 0.4 --domain support --json
expect_status 0
close robust_return 0.2171572875
expect_json certified true
expect_json rewards '"separable"'
expect_json unseen '"additive"'
grep -q unseen_value stdout.txt && complain "additive has no value"
run evaluate "${coin[@]}" --radius 0.4 --domain support --frozen-rewards --json
close robust_return 0.5
expect_json rewards '"row"'
expect_json unseen null
run evaluate "${coin[@]}" --radius 0.4 --domain support --unseen min --json
close robust_return 0.2171572875
expect_json unseen '"min"'
expect_json unseen_value 0
run evaluate "${coin[@]}" --radius 0.1 --unseen -2.5
expect_out "rewards    paid on landing; successors without a reward: value, -2.5"
run evaluate "${coin[@]}" --radius 0.1 --frozen-rewards
[[ $out != *"paid on landing"* ]] || complain "frozen rewards are not paid on landing"

# One successor for each row: what is asked for the others holds, too.
printf 'idstatefrom,idaction,idstateto,probability,reward\n0,0,0,1,2\n1,0,1,1,3\n' >stay.csv
stay=(stay.csv --discount 0.5 --initial 0 --policy uniform --radius 0.1 --set sa --norm 1 --quiet --json)
run evaluate "${stay[@]}"
close robust_return 4
expect_json rewards '"row"'
run evaluate "${stay[@]}" --unseen row
close robust_return 4
for asked in "-10 2.886363636364" "min 4"; do
    run evaluate "${stay[@]}" --unseen "${asked% *}"
    expect_status 0
    expect_json rewards '"landing"'
    expect_json certified true
    close robust_return "${asked#* }"
done

# What is assumed does not change the nominal return, however large; rewards that dwarf returns leave wide bounds, which are
# not certified.
printf 'idstatefrom,idaction,idstateto,probability,reward\n0,0,0,0.5,0.3\n0,0,1,0.5,-0.4\n1,0,0,0.3,0.2\n1,0,1,0.4,0.7\n1,0,2,0.3,0.1\n2,0,2,1,0.5\n' >far.csv
far=(far.csv --discount 0.9 --policy uniform --radius 0.1 --quiet --json)
run evaluate "${far[@]}"
nominal=$(number nominal_return)
for value in 1e14 -1e14 1e20; do
    run evaluate "${far[@]}" --unseen $value
    close nominal_return "$nominal"
done
expect_json certified false
{ cat far.csv; echo 0,0,2,0,1e16; } >farther.csv
run evaluate farther.csv "${far[@]:1}"
expect_json certified false

# A discount next to 0 leaves nothing to assume other rewards from; where all are given, nothing has to be.
printf 'idstatefrom,idaction,idstateto,probability,reward\n0,0,0,0,-5\n0,0,1,0.5,1\n0,0,2,0.5,0\n' >given.csv
run evaluate given.csv --discount 0 --initial 0 --policy uniform --radius 0.1 --set sa --norm 1 --json --quiet
expect_status 0
close robust_return 0.2
expect_json certified true
expect_failure 2 "the discount of 0 is too small for rewards of successors that the model has not got" \
    evaluate coin.csv --discount 0 --initial 0 --policy uniform --radius 0.1

# The machine, as its golden values are, and the same by its file in other formats.
run generate machine machine.npz --quiet
run convert machine.npz machine.csv --quiet
run convert machine.npz machine.MDP --quiet
for file in machine.npz machine.csv machine.MDP; do
    run evaluate $file --discount 0.9 --policy optimal --radius 0.1 --set sa --domain support --norm 1 --json --quiet
    expect_status 0
    close robust_return -12.24355883
    expect_json certified true
done
run convert machine.npz frozen.npz --frozen-rewards
expect_status 0
run info frozen.npz --json
expect_json rewards '"row"'
expect_failure 2 "unknown option --unseen" convert machine.npz other.npz --unseen row

# Every command that reads a model says what was used, with the number.
model=(machine.npz --quiet)
says="paid on landing; successors without a reward: min, -20"
run info machine.npz --unseen min
expect_out "$says"
run solve "${model[@]}" --out best.csv --unseen min
[[ $out != *"paid on landing"* ]] || complain "the nominal optimum rests on no new transition"
run sweep "${model[@]}" --policy uniform --radius 0:0.02:2 --unseen min
expect_out "$says"
run radius "${model[@]}" --policy uniform --target -30 --unseen min
expect_out "$says"
run optimize "${model[@]}" --radius 0.01 --out robust.csv --unseen min
expect_out "$says"
run gradient "${model[@]}" --policy uniform --radius 0.01 --out gradient.csv --unseen min
expect_out "$says"
run evaluate "${model[@]}" --policy uniform --policy best.csv --radius 0.01 --unseen min
expect_out "$says"
for command in "solve --out best.csv" "sweep --policy uniform --radius 0:0.02:2" "radius --policy uniform --target -30" \
    "optimize --radius 0.01 --out robust.csv" "gradient --policy uniform --radius 0.01 --out gradient.csv" info; do
    # shellcheck disable=SC2086
    run ${command%% *} machine.npz ${command#"${command%% *}"} --unseen min --json --quiet
    expect_status 0
    expect_json unseen '"min"'
    expect_json unseen_value -20
done

# Verification is of the same question.
run evaluate "${model[@]}" --policy uniform --radius 0.1 --kernel worst.npz --witness worst.json --kernel-model worst.MDP --json
worst=$(number robust_return)
run verify machine.npz --policy uniform --kernel worst.npz --witness worst.json
expect_status 0
expect_out "paid on landing; successors without a reward: additive"
for other in --frozen-rewards "--unseen min"; do
    # shellcheck disable=SC2086
    run verify machine.npz --policy uniform --kernel worst.npz --witness worst.json $other
    expect_status 8
    expect_out "fails: the model is another"
    expect_out "frozen rewards and what successors without a reward pay must be given as they were then"
done
run evaluate worst.MDP --policy uniform --radius 0 --json --quiet
close nominal_return "$worst"

# What new landings are assumed to pay is said beside the answer where the fit is off, and how to say it exactly; not where the
# domain has no new transitions, or the fit is exact.
cat >lift.csv <<'END'
state,action,next_state,probability,reward
new,run,new,0.7,10
new,run,worn,0.3,10
worn,run,worn,0.8,10
worn,run,stuck,0.1,-15
worn,run,crash,0.1,-200
worn,mend,new,0.9,2
worn,mend,crash,0.1,-200
stuck,mend,worn,0.9,-10
stuck,mend,crash,0.1,-200
END
at=(lift.csv --discount 0.95 --initial new --policy uniform --radius 0.1)
run evaluate "${at[@]}" --json --explain
read -r to paid < <(awk '/"state_name"/ { state = $2 } /"assumed_to_name"/ && state ~ /new/ { to = $2 } /"assumed_reward"/ && state ~ /new/ { print to, $2; exit }' stdout.txt | tr -d ',"')
[[ $to == crash ]] || complain "new, run lands on crash, not '$to'"
error=$(number unseen_error)
awk -v paid="$paid" -v error="$error" 'BEGIN { exit !(error > 0 && paid > -200 && paid < -150) }' || complain "fit $paid, error $error"
run evaluate "${at[@]}"
expect_out "Assumed      new, run → crash pays $(printf '%.5g' "$paid"): a fit, up to "
expect_out "lines of probability 0 say what they pay, or --unseen"
run optimize "${at[@]:0:5}" --radius 0.1
expect_out "Assumed      "
run sweep "${at[@]:0:7}" --radius 0:0.1:2
expect_out "successors without a reward: additive, up to "
for way in "--domain support" "--unseen=-200"; do
    # shellcheck disable=SC2086
    run evaluate "${at[@]}" $way
    [[ $out != *Assumed* ]] || complain "$way: nothing is assumed"
done
[[ $(NADIR=$NADIR "$NADIR" evaluate "${at[@]}" --domain support --quiet) != *"without a reward"* ]] || complain "no new transitions"
printf 'new,run,crash,0,-200\nworn,run,new,0,10\nworn,mend,stuck,0,-15\nworn,mend,worn,0,2\nstuck,mend,new,0,-10\nstuck,mend,stuck,0,-10\nnew,run,stuck,0,-15\nworn,mend,new,0,2\n' >>lift.csv
run evaluate "${at[@]}"
expect_status 0
[[ $out != *Assumed* ]] || complain "all rewards are given"

# Data: the mean that was seen with each transition.
printf 'idstatefrom,idaction,idstateto,reward\n0,0,0,1\n0,0,1,3\n0,0,1,3\n1,0,0,1\n1,0,1,3\n' >log.csv
run fit log.csv --discount 0.9 --out fitted.npz --samples 200 --json --quiet
expect_status 0
expect_json rewards '"separable"'
expect_json unseen '"additive"'
run fit log.csv --discount 0.9 --out fitted.npz --samples 200 --quiet --unseen row
expect_out "rewards    paid on landing; successors without a reward: row"
run fit log.csv --discount 0.9 --out fitted.npz --samples 200 --quiet --frozen-rewards --json
expect_json rewards '"row"'

for command in "evaluate machine.npz --policy uniform --radius 0.1" "info machine.npz" "fit log.csv --out fitted.npz"; do
    # shellcheck disable=SC2086
    expect_failure 2 "--unseen: 'mean' given, expected additive, row, min or a finite number" $command --unseen mean
    # shellcheck disable=SC2086
    expect_failure 2 "expected additive, row, min or a finite number" $command --unseen inf
    # shellcheck disable=SC2086
    expect_failure 2 "with --frozen-rewards none are" $command --unseen row --frozen-rewards
done
finish
