# nadir fit: from logged episodes to a robust policy, every key, files that other commands take as they are, bad data.
source "$(dirname "$0")/../support/cli.sh"

examples=$(dirname "$0")/../../examples
run generate riverswim river.csv --quiet
"$examples/simulate-log" river.csv 100 20 1 >log.csv

# Every key, and a ball that holds the nominal kernel.
run fit log.csv --guarantee kernel --discount 0.95 --out model.npz --samples 1000 --json
expect_status 0
expect_no_err
for key in data data_kind guarantee observations total_count episodes states rows rows_visited rows_unvisited rows_known visits_min \
    visits_median model method confidence prior samples set norm domain scales radius policy nominal_return lower_bound \
    guarantees candidates robust_return penalty certified nonzeros discount model_sha256 plot seconds load radii total \
    warnings; do
    expect_out "\"$key\": "
done
expect_json data_kind '"trajectories"'
expect_json observations 2000
expect_json episodes 100
expect_json rows_visited 12
expect_json domain '"simplex"'
expect_json confidence 0.95
radius=$(number radius)
lower=$(number lower_bound)
nominal=$(number nominal_return)

# The same seed gives the same file, another one another radius.
run fit log.csv --guarantee kernel --discount 0.95 --out again.npz --samples 1000 --quiet --threads 2
cmp -s model.npz again.npz || complain "two runs differ"
run fit log.csv --guarantee kernel --discount 0.95 --out other.npz --samples 1000 --seed 7 --json
[[ $(number radius) != "$radius" ]] || complain "the seed does not matter"

# The other commands need no more.
run evaluate model.npz --policy optimal --json
expect_status 0
expect_number radius "$radius"
expect_number lower_bound "$lower"
expect_number nominal_return "$nominal"
expect_json domain '"simplex"'
run sweep model.npz --policy optimal --json
expect_status 0
[[ $(grep -c '"certified"' stdout.txt) == 21 ]] || complain "expected 21 radii"
run optimize model.npz --out robust.csv --json
expect_status 0
expect_number radius "$radius"
run info model.npz
expect_status 0
enough_for_memcheck

# As text; with a policy; the other sets; what is possible.
run fit log.csv --guarantee kernel --discount 0.95 --out text.npz --policy robust.csv --samples 1000
expect_status 0
expect_out "2000 transitions in 100 episodes"
expect_out "12 of 12 visited"
expect_out "Grounds      of any policy: holds if the prior is right (rows independent, Dirichlet)"
expect_out "sa-rectangular"
expect_out "chosen"
for set in s sa; do
    run fit log.csv --guarantee kernel --discount 0.95 --out "$set.npz" --set $set --samples 1000 --json
    expect_json set "\"$set\""
    lower=$(number lower_bound)
    run evaluate "$set.npz" --policy optimal --json
    expect_json set "\"$set\""
    expect_number lower_bound "$lower"
    run sweep "$set.npz" --policy optimal
    expect_status 0
    run optimize "$set.npz" --out set.csv
    expect_status 0
done
cut -d, -f1-3 river.csv >possible.csv
run fit log.csv --guarantee kernel --discount 0.95 --out support.npz --successors possible.csv --samples 1000 --json
expect_json domain '"support"'
run evaluate support.npz --policy optimal --json
expect_json domain '"support"'
run fit log.csv --guarantee kernel --discount 0.95 --out free.npz --method distribution-free --json
expect_json method '"distribution-free"'
expect_json prior 0
run fit log.csv --guarantee kernel --discount 0.95 --out boot.npz --method bootstrap --samples 1000 --json
expect_json method '"bootstrap"'
run fit log.csv --guarantee kernel --discount 0.95 --out inf.npz --norm inf --samples 1000 --json
expect_json norm '"inf"'

# A picture, and what is left out where there are no guarantees.
if command -v gnuplot >/dev/null; then
    run fit log.csv --guarantee kernel --discount 0.95 --out plot.npz --samples 1000 --plot bars.svg --json
    expect_status 0
    expect_json plot '"bars.svg"'
    grep -q 'a budget for each state and action' bars.svg || complain "the picture names no set"
fi
run fit log.csv --guarantee kernel --out bare.npz --samples 1000 --plot none.svg --json
expect_status 0
expect_err "without --discount"
expect_err "none.svg is not drawn"
expect_json nominal_return null
expect_json scales '"deviation"'
[[ ! -e none.svg ]] || complain "a picture of nothing"

# Rows that were never visited are counted and treated as told.
head -n 8 log.csv >short.csv
for how in uniform pin absorb; do
    run fit short.csv --guarantee kernel --discount 0.95 --states 6 --actions 2 --unvisited $how --out short.npz --samples 200
    expect_status 0
    expect_err "rows were never visited"
    expect_err "(--unvisited $how)"
done

# Standard input; posterior samples.
"$NADIR" fit - --guarantee kernel --discount 0.9 --out stdin.npz --samples 1000 --json <log.csv >stdout.txt 2>stderr.txt
expect_json data '"-"'
{
    echo idoutcome,idstatefrom,idaction,idstateto,probability,reward
    for k in $(seq 0 39); do
        echo "$k,0,0,0,0.$((k + 10)),1"
        echo "$k,0,0,1,0.$((90 - k)),1"
        echo "$k,1,0,0,1,0"
    done
} >samples.csv
run fit samples.csv --discount 0.9 --out samples.npz --json
expect_status 0
expect_json data_kind '"samples"'
expect_json samples 40

# Bad data end with exit 3 and the line; wrong usage with 2; nothing is left behind.
printf 'state,action,next_state,reward\n0,0,1,1\n0,0,1,nan\n' >bad.csv
expect_failure 3 "bad.csv:3:" fit bad.csv --discount 0.9 --out bad.npz
printf 'state,action,next_state,colour\n0,0,1,1\n' >bad.csv
expect_failure 3 "bad.csv:1:" fit bad.csv --discount 0.9 --out bad.npz
printf 'state,action,next_state,count\n0,0,1,-1\n' >bad.csv
expect_failure 3 "bad.csv:2:" fit bad.csv --discount 0.9 --out bad.npz
expect_failure 3 "nowhere.csv" fit nowhere.csv --discount 0.9 --out bad.npz
[[ ! -e bad.npz ]] || complain "a model of bad data"
expect_failure 2 "--out MODEL is needed" fit log.csv --guarantee kernel
expect_failure 2 "--discount GAMMA is needed for a guarantee of the return" fit log.csv
expect_failure 2 "bad.csv: the model is written as .npz" fit log.csv --out bad.csv
expect_failure 2 "method: 'magic' given" fit log.csv --out x.npz --method magic
expect_failure 2 "the confidence is 2" fit log.csv --out x.npz --confidence 2
expect_failure 4 "the discount is 1" fit log.csv --out x.npz --discount 1
expect_failure 2 "a picture ends with" fit log.csv --out x.npz --discount 0.9 --plot x.jpg
expect_failure 3 "" fit log.csv --out x.npz --discount 0.9 --policy nowhere.csv
run fit --help
expect_status 0
expect_out "--successors"

# A guarantee of the return: every key, the policy it speaks of, the ball that explains it.
run fit log.csv --discount 0.95 --successors possible.csv --out explain.npz --policy-out chosen.csv --more 500 --json
expect_status 0
for key in guarantee guaranteed grounds posterior_bound nominal_return penalty deviation behaviour_return level_used weight ties \
    draws monte_carlo_confidence rows_barred reward_deviation policy policy_out model radius lower_bound certified \
    more visits penalty_told penalty_even penalty_as_before share seconds; do
    expect_out "\"$key\": "
done
expect_json guarantee '"return"'
expect_json draws 10000
guaranteed=$(number guaranteed)
bound=$(number posterior_bound)
penalty=$(number penalty | head -n 1)
awk "BEGIN { exit !($guaranteed <= $bound) }" || complain "the guarantee $guaranteed is above the posterior bound $bound"
run evaluate explain.npz --policy chosen.csv --json
awk "BEGIN { exit !($(number lower_bound) >= $guaranteed - 1e-6 && $(number lower_bound) <= $guaranteed + 0.05 * $penalty) }" ||
    complain "the ball returns $(number lower_bound), not $guaranteed"
run fit log.csv --discount 0.95 --successors possible.csv --out again.npz --policy-out again.csv --more 500 --quiet --threads 2
cmp -s explain.npz again.npz && cmp -s chosen.csv again.csv || complain "two runs differ"
run fit log.csv --discount 0.95 --successors possible.csv
expect_out "first order, measured in simulations, no theorem"
expect_out "the line to beat"
run fit log.csv --discount 0.95 --successors possible.csv --policy uniform --json
expect_json ties 0
expect_out "of a policy made elsewhere"
run fit log.csv --discount 0.95 --successors possible.csv --guarantee posterior --target-penalty 50
expect_out "if the prior is right"
expect_out "visits more: predicted penalty 50 where"
run fit log.csv --discount 0.95 --successors possible.csv --target-penalty 1e9
expect_out "no visits more: the penalty is"
run fit log.csv --discount 0.95 --out text.npz
expect_out "explains the guarantee of this policy; does not hold the kernel"
run evaluate text.npz --policy optimal
expect_out "explains the guarantee that nadir fit gave for one policy; it does not hold the true kernel"
run evaluate text.npz --policy optimal --policy uniform
expect_out "and does not compare policies: nadir fit LOG --policy A --policy B does"
run optimize text.npz
expect_out "it does not hold the true kernel"
run evaluate text.npz --policy optimal --radius 0.01
! grep -q "does not hold" stdout.txt || complain "a note on a ball that is not the model's"
run info text.npz
expect_out "does not hold the true kernel"
expect_out "start          state 0"
run info text.npz --json
expect_json promise '"return"'
expect_json confidence 0.95
run convert text.npz text.umb
run info text.umb --json
expect_json promise '"return"'
run info model.npz
expect_out "holds the true kernel with confidence 0.95"
expect_failure 2 "made from the same data" fit log.csv --discount 0.95 --policy optimal
expect_failure 2 "cannot both be given" fit log.csv --discount 0.95 --more 5 --target-penalty 5
expect_failure 2 "--more belongs to a guarantee of the return; leave out --guarantee kernel" fit log.csv --discount 0.95 --guarantee kernel --more 5 --out x.npz
expect_failure 2 "--target-penalty belongs to a guarantee of the return; leave out --scales" \
    fit log.csv --discount 0.95 --scales ones --target-penalty 5 --out x.npz
expect_failure 3 "needs a discount" fit log.csv --guarantee return
expect_failure 2 "needs counted transitions" fit samples.csv --discount 0.9 --guarantee return

# A log with columns of its own, and two policies made elsewhere: a bound for each, and for their difference.
data=$examples/data
columns=state=condition,action=treatment,next_state=outcome,reward=score,episode=patient,time=day
run fit "$data/clinic-log.csv" --columns $columns --discount 0.95 --policy "$data/watchful.csv" --policy "$data/early.csv" --json
expect_status 0
expect_no_err
for key in start state_name probability guarantee grounds confidence best decided policies nominal_return guaranteed guaranteed_together \
    difference difference_lower difference_upper best_lead behaviour_return draws monte_carlo_confidence seconds; do
    expect_out "\"$key\": "
done
expect_json decided true
grep -q '"best": ".*early.csv"' stdout.txt || complain "early.csv is not the best"
both=($(sed -n 's/.*"guaranteed": \([-0-9.e]*\).*/\1/p' stdout.txt))
together=($(sed -n 's/.*"guaranteed_together": \([-0-9.e]*\).*/\1/p' stdout.txt))
lower=($(sed -n 's/.*"difference_lower": \([-0-9.e]*\).*/\1/p' stdout.txt))
upper=($(sed -n 's/.*"difference_upper": \([-0-9.e]*\).*/\1/p' stdout.txt))
awk "BEGIN { exit !(${together[1]} < ${both[1]} && 0 < ${lower[1]} && ${lower[1]} < ${upper[1]}) }" || complain "bounds"
# Each is what it is alone; the other way round the difference has the other sign.
for i in 0 1; do
    file=("$data/watchful.csv" "$data/early.csv")
    run fit "$data/clinic-log.csv" --columns $columns --discount 0.95 --policy "${file[i]}" --json
    expect_json guaranteed "${both[i]}"
done
run fit "$data/clinic-log.csv" --columns $columns --discount 0.95 --policy "$data/early.csv" --policy "$data/watchful.csv" --json --threads 2
[[ $(sed -n 's/.*"difference_upper": \([-0-9.e]*\).*/\1/p' stdout.txt | tail -n 1) == "-${lower[1]}" ]] || complain "the difference is not the same"
run fit "$data/clinic-log.csv" --columns $columns --discount 0.95 --policy "$data/watchful.csv" --policy "$data/early.csv" \
    --policy "$data/watchful.csv"
expect_status 0
expect_out "Undecided    the data do not tell"
expect_out "picked among 3"
expect_out "the same policy as"
expect_out "start      severe 31.7 %, well 26.7 %, mild 41.7 %, as the episodes of the data"
expect_out "no data    well, surgery; mild, surgery: not taken"
run fit "$data/clinic-log.csv" --columns $columns --discount 0.95 --policy "$data/watchful.csv" --policy uniform
expect_err "rows were never visited (well, surgery; mild, surgery)"
head -n 200 "$data/clinic-log.csv" >few.csv
run fit few.csv --columns $columns --discount 0.95 --policy "$data/watchful.csv" --policy "$data/early.csv"
expect_out "Undecided"
# More visits add up; transitions that were never seen are marked; pairs that are not told apart are named.
run fit "$data/clinic-log.csv" --columns $columns --discount 0.95 --policy "$data/early.csv" --more 200 --out early.npz
[[ $(awk '/of the variance/ { on = 1; next } on { sum += $1 } END { print sum }' stdout.txt) == 200 ]] || complain "visits do not add up to 200"
run evaluate early.npz --policy "$data/early.csv" --explain
expect_status 3
sed 's/condition/state/; s/treatment/action/' "$data/early.csv" >early.csv
run evaluate early.npz --policy early.csv --explain
expect_out "(never observed)"
run evaluate early.npz --policy early.csv --explain --json
expect_out '"never_observed": true'
expect_out '"never_observed": false'
run fit "$data/clinic-log.csv" --columns $columns --discount 0.95 --json
expect_out '"tied_rows": '
if command -v gnuplot >/dev/null; then
    run fit "$data/clinic-log.csv" --columns $columns --discount 0.95 --policy "$data/watchful.csv" --policy "$data/early.csv" --plot two.svg
    expect_status 0
    grep -q 'early.csv: estimated' two.svg || complain "the picture names no policy"
    run fit "$data/clinic-log.csv" --columns $columns --discount 0.95 --plot one.svg --json
    expect_json plot '"one.svg"'
    grep -q 'chosen on these data: estimated' one.svg || complain "the picture names no policy"
fi
expect_failure 2 "are for one --policy, not for 2" fit log.csv --discount 0.95 --policy uniform --policy uniform --out x.npz
expect_failure 2 "nadir evaluate MODEL" fit log.csv --discount 0.95 --guarantee kernel --policy uniform --policy uniform --out x.npz
expect_failure 2 "unvisited uniform goes with guarantee kernel" fit short.csv --discount 0.95 --states 6 --unvisited uniform

# What R, pandas and databases write: words for done, NA for what is missing, an index without a name, dates as times.
printf '%s\n' episode,day,state,action,next_state,reward,done,truncated \
    x,1,well,wait,ill,1,0,0 x,2,ill,cure,well,-1,0,0 x,3,well,wait,,0,1,0 y,1,well,wait,ill,1,0,0 y,2,ill,cure,,0,0,1 >plain.csv
printf '%s\r\n' ',"episode","day","state","action","next_state","reward","done","truncated"' \
    '"1","x",2023-12-31,"well","wait","ill",1,"no",F' '"2","x",2024-01-01T00:00,"ill","cure","well",-1,"No",FALSE' \
    '"3","x",2024-01-01 00:00:00.5Z,"well","wait",NA,0,"yes",f' '"4","y",2024-02-29 01:59:30.5+02:00,"well","wait","ill",1,"n",false' \
    '"5","y",2024-02-29,"ill","cure",<NA>,0,"N",T' >wild.csv
run fit plain.csv --columns time=day --discount 0.9 --json
plain=$out
run fit wild.csv --columns time=day --discount 0.9 --json
expect_status 0
expect_err "wild.csv: column 1 has no name: not used"
[[ $(grep -E '"(guaranteed|posterior_bound|dropped|episodes)"' <<<"$out") == "$(grep -E '"(guaranteed|posterior_bound|dropped|episodes)"' <<<"$plain")" ]] ||
    complain "two ways to write the same log differ"

expect_failure 2 "guarantee: 'magic' given" fit log.csv --discount 0.9 --guarantee magic

finish
