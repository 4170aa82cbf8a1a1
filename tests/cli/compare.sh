# nadir compare: the table, JSON, trajectories, picture; evaluate --method with the same names; errors.
source "$(dirname "$0")/../support/cli.sh"

all="auto newton bisect best-response paper paper-reduced slsqp slsqp-scaled random-rank-one random-kernel \
random-kernel-projected conservative"
run generate random model.npz --states 6 --actions 2 --seed 1 --quiet

run compare model.npz --policy uniform --radius 0.05 --time inf --samples 400 --csv trajectories.csv --plot picture.svg \
    --json
expect_status 0
expect_no_err
expect_json domain '"free"'
expect_json certified true
[[ $(number exact_penalty) == 0.131617542* ]] || complain "the exact penalty is 0.131617542"
for method in $all; do
    expect_out "\"method\": \"$method\""
    [[ $(grep -c "^$method," trajectories.csv) -gt 0 || $method == slsqp ]] || complain "no trajectory of $method"
done
for key in penalty share seconds seconds_to_99 samples stop_reason; do
    [[ $(grep -c "\"$key\": " stdout.txt) == 12 ]] || complain "not every method has $key"
done
[[ $(head -n 1 trajectories.csv) == method,seconds,samples,penalty,share ]] || complain "the head of the file"
awk -F, 'NR > 1 && ($1 == last && ($2 < time || $4 <= penalty) || $5 > 1 + 1e-9) { bad = 1 }
    { last = $1; time = $2; penalty = $4 } END { exit bad }' trajectories.csv || complain "a trajectory falls"
grep -q "<svg" picture.svg || complain "no picture"
shares=$(sed -n 's/^ *"share": \(.*\),$/\1/p' stdout.txt | awk '{ print ($1 <= 1 + 1e-9) }' | sort -u)
[[ $shares == 1 ]] || complain "more than the exact penalty"

run compare model.npz --policy uniform --radius 0.05 --time 0.05 --methods random-rank-one,random-kernel --json
[[ $(grep -c '"stop_reason": "time"' stdout.txt) == 2 ]] || complain "time does not end them"

for command in compare evaluate; do
    run $command --help-all
    for method in $all; do
        expect_out " $method: "
    done
done

# Text; a choice of methods; as many samples as asked for, the same ones each time.
run compare model.npz --policy uniform --radius 0.05 --time inf --samples 300 --methods random-kernel,auto --seed 5
expect_status 0
expect_out "Penalty      0.13162   exact   proven"
expect_out "random-kernel"
[[ $out != *paper* ]] || complain "a method that was not asked for"
first=$(grep random-kernel stdout.txt | awk '{ print $2, $(NF - 1), $NF }')
[[ $first == *" 300 samples" ]] || complain "not 300 samples: $first"
run compare model.npz --policy uniform --radius 0.05 --time inf --samples 300 --methods random-kernel --seed 5 --threads 1
[[ $(grep random-kernel stdout.txt | awk '{ print $2, $(NF - 1), $NF }') == "$first" ]] || complain "other samples"

# On other domains those that know them.
run compare model.npz --policy uniform --radius 0.05 --time inf --samples 50 --domain support --json
expect_status 0
expect_out '"method": "conservative"'
[[ $out != *'"method": "paper"'* ]] || complain "the paper's method knows no support"
[[ $err == *"left out"*" newton bisect best-response paper paper-reduced slsqp "* ]] || complain "no warning"
expect_failure 2 "is for the non-rectangular ball with norm 2 on the domain free" \
    compare model.npz --policy uniform --radius 0.05 --time 1 --domain support --methods paper

enough_for_memcheck

# Near breakdown the paper's method is far from the worst kernel; slsqp stops where nothing is gained.
run compare model.npz --policy uniform --radius 1.2 --time inf --samples 1000 --methods auto,paper --json
[[ $(number exact_penalty) == 8.246613* ]] || complain "the exact penalty is 8.246613"
[[ $(grep -c '"share": 0.6' stdout.txt) == 1 ]] || complain "paper finds two thirds here"
run compare model.npz --policy uniform --radius 0.01 --time inf --samples 1000 --methods slsqp --seed 2
[[ $(grep slsqp stdout.txt) == *" 0.00 % "* ]] || complain "slsqp ends at zero from this start"

# The same names in evaluate: the kernel is attained, and called certified only where it is proven.
for method in paper paper-reduced slsqp-scaled; do
    run evaluate model.npz --policy uniform --radius 0.05 --domain free --method $method --json
    expect_status 0
    expect_json method "\"$method\""
    expect_json certified true
done
run evaluate model.npz --policy uniform --radius 0.05 --domain free --method random-kernel --json
expect_status 0
expect_json certified false
expect_json certificate '"none"'
expect_json iterations 10000
expect_failure 5 "stopped at its limit" \
    evaluate model.npz --policy uniform --radius 0.05 --domain free --method conservative

# What is found can be checked again, with nothing else at hand.
for method in paper slsqp-scaled random-rank-one random-kernel; do
    run evaluate model.npz --policy uniform --radius 0.05 --domain free --method $method \
        --kernel kernel.npz --witness witness.json
    expect_status 0
    run verify model.npz --policy uniform --kernel kernel.npz --witness witness.json --json
    expect_status 0
    expect_json verified true
done

# Models that a method is not made for.
generate_frozen riverswim long.npz --states 15001
expect_failure 2 "here 30002, and takes up to 30000" \
    compare long.npz --policy uniform --radius 1e-6 --time 1 --methods paper
expect_failure 2 "it takes up to 8000, and the model has 45003" \
    compare long.npz --policy uniform --radius 1e-6 --time 1 --methods slsqp

# What is not proven is not called exact.
run generate garnet garnet.npz --states 20 --actions 3 --branch 5 --seed 0 --quiet
unproven="garnet.npz --policy optimal --radius 2 --norm 1 --domain simplex --time inf --samples 100"
# shellcheck disable=SC2086
run compare $unproven --plot unproven.svg
expect_status 0
[[ $out != *exact* ]] || complain "it is not proven"
! grep -q exact unproven.svg || complain "nor is it in the picture"
# shellcheck disable=SC2086
run compare $unproven --json
expect_json certified false
expect_json exact_penalty null

# A ball of one kernel: nothing to find, and no share of it.
run compare model.npz --policy uniform --radius 0 --time 1 --methods auto,paper --plot nothing.png
expect_status 0
expect_out "Penalty      0   exact   proven"
[[ $(grep -c "^  [ap][a-z]* *0 *- *never" stdout.txt) == 2 ]] || complain "the share of nothing"
run compare model.npz --policy uniform --radius 0 --time 1 --methods auto --json
expect_out '"share": null'

# Wrong.
expect_failure 2 "--time SECONDS is needed" compare model.npz --policy uniform --radius 0.05
expect_failure 2 "there is no method 'newtron'" compare model.npz --policy uniform --radius 0.05 --time 1 --methods auto,newtron
expect_failure 2 "expected more than 0" compare model.npz --policy uniform --radius 0.05 --time 0
expect_failure 2 ".svg or .png" compare model.npz --policy uniform --radius 0.05 --time 1 --plot picture.pdf
expect_failure 4 "breakdown" compare model.npz --policy uniform --radius 5 --time 1
expect_failure 6 "cannot write" compare model.npz --policy uniform --radius 0.05 --time 1 --methods auto --csv none/there.csv
[[ -z $(find . -name '*.tmp') ]] || complain "temporary files are left"

finish
