# nadir report: the page has the numbers of the other commands, harmless names, and says what is left out.
source "$(dirname "$0")/../support/cli.sh"

run generate machine machine.npz --quiet
run report machine.npz --out page.html --quiet
expect_status 0
expect_no_err
expect_out "Report       page.html"
expect_out "Worst case   -18.179 at radius 0.1   nominal -9.6679"
expect_out "Robust       -17.844   nominal -9.8915"

# The numbers of a page for programs, a line for each radius.
numbers() {
    sed -n '/id="numbers"/,/<\/script>/p' "$1"
}
# of_json KEY: from what the command has printed.
of_json() {
    sed -n "s/^  \"$1\": \(.*[^,]\),\{0,1\}$/\1/p" stdout.txt
}
# same KEY PAGE RADIUS PART: the number that was printed is that of the page.
same() {
    local printed
    printed=$(of_json "$1")
    [[ -n $printed ]] || complain "no $1"
    numbers "$2" | grep -F "\"radius\":$3," | grep -qE "\"$4\":\{[^}]*\"$1\":${printed//./\\.}[,}]" ||
        complain "$2 at radius $3 has another $1 for $4 than $printed"
}
balls=("" "--domain support" "--set sa --norm 1" "--norm inf")
memcheck && balls=("--domain support")
for ball in "${balls[@]}"; do
    run report machine.npz --radius 0.1 --radii 0:0.3:7 $ball --out page.html --quiet
    expect_status 0
    run evaluate machine.npz --policy optimal --radius 0.1 $ball --json
    for key in robust_return lower_bound upper_bound; do same $key page.html 0.1 evaluate; done
    run optimize machine.npz --radius 0.1 $ball --out robust.csv --json
    for key in robust_return lower_bound; do same $key page.html 0.1 optimize; done
    printed=$(of_json optimality_upper_bound)
    numbers page.html | grep -F '"radius":0.1,' | grep -qF "\"optimality_upper_bound\":$printed" ||
        complain "the page has another bound than $printed"
    run optimize machine.npz --radius 0.25 $ball --out other.csv --json
    for key in robust_return lower_bound; do same $key page.html 0.25 optimize; done
    # the curves are those of one sweep
    for policy in "optimal evaluate" "robust.csv robust_policy"; do
        set -- $policy
        run sweep machine.npz --policy "$1" --radius 0:0.3:7 $ball --csv curve.csv --quiet
        expect_status 0
        awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) place[$i] = i; next }
            { print "\"radius\":" $place["radius"] ",", "\"robust_return\":" $place["robust_return"] ",\"lower_bound\":" $place["lower_bound"] }' \
            curve.csv >wanted.txt
        [[ $(wc -l <wanted.txt) == 7 ]] || complain "seven radii"
        while read -r radius found; do
            [[ $radius == '"radius":0.09999999999999999,' ]] && continue # that of the verdict comes from evaluate and optimize
            numbers page.html | grep -F "$radius" | grep -qF "\"$2\":{$found" || complain "the page has another $2 at $radius than $found"
        done <wanted.txt
    done
done
[[ $(numbers page.html | grep -c '"radius"') == 7 ]] || complain "seven radii, one of them marked"

# A radius of the model's own, a policy of one's own, and one that is named as a shell needs it.
cp robust.csv "my policy.csv"
run report machine.npz --policy "my policy.csv" --radius 0.2 --out page.html --json
expect_status 0
expect_no_err
grep -qF "nadir evaluate machine.npz --policy 'my policy.csv' --radius 0.2 --explain" page.html ||
    complain "the command of the policy"
[[ $(of_json bytes) == $(wc -c <page.html) ]] || complain "the bytes of the page"
[[ $(of_json output) == '"page.html"' && $(of_json left_out) == 0 ]] || complain "what was written"
same robust_return page.html 0.2 evaluate
same lower_bound page.html 0.2 evaluate

enough_for_memcheck

# Names are text, whatever is in them.
long=$(printf 'x%.0s' {1..4000})
cat >names.csv <<END
state,action,next_state,probability,reward
"</script><script>alert(1)</script>",go,"<img src=x onerror=alert(2)>",0.5,1
"</script><script>alert(1)</script>",go,"a ""b"" & 'c'",0.5,0
"<img src=x onerror=alert(2)>","--><b>stay",$long,1,2
"<img src=x onerror=alert(2)>",go,"a ""b"" & 'c'",1,0
"a ""b"" & 'c'","=1+1",$long,1,0
$long,"é→",“quoted”,1,0
“quoted”,go,$long,1,3
END
cp names.csv '<b>model.csv'
run report '<b>model.csv' --discount 0.9 --radius 0.3 --out names.html
expect_status 0
grep -qE '<img|<b>stay|<b>model|onerror=alert\(2\)>' names.html && complain "a name has become markup"
[[ $(grep -o '<script' names.html | wc -l) == 2 && $(grep -o '</script' names.html | wc -l) == 2 ]] || complain "scripts of its own alone"
grep -qF '&lt;/script&gt;&lt;script&gt;alert(1)' names.html || complain "the name is there"
grep -qF "$long" names.html && complain "a long name is cut"
grep -qF 'xxx…' names.html || complain "with an ellipsis"

# A log: what the data promise of the policy chosen on them is what nadir fit says; the ball is that of the kernel.
data=$(dirname "$0")/../../examples/data
cp "$data"/river-*.csv "$data"/clinic-log.csv .
run report river-log.csv --discount 0.95 --successors river-neighbours.csv --out log.html --json
expect_status 0
guaranteed=$(of_json guaranteed) radius=$(of_json radius) lower=$(of_json lower_bound)
run fit river-log.csv --discount 0.95 --successors river-neighbours.csv --policy-out chosen.csv --json
[[ -n $guaranteed && $(of_json guaranteed) == "$guaranteed" ]] || complain "the promise of the data is not $guaranteed"
run fit river-log.csv --discount 0.95 --successors river-neighbours.csv --guarantee kernel --policy chosen.csv --out kernel.npz --json
[[ $(of_json radius) == "$radius" ]] || complain "the radius that the data support is not $radius"
run evaluate kernel.npz --policy chosen.csv --json
[[ $(of_json lower_bound) == "$lower" ]] || complain "the worst case is not $lower"
grep -qF 'There are two guarantees.' log.html || complain "two numbers without a word why"
grep -qF 'radius that the data support' log.html || complain "the radius is marked as that of the data"
run report clinic-log.csv --columns state=condition,action=treatment,next_state=outcome,reward=score,episode=patient,time=day \
    --discount 0.95 --out clinic.html
expect_status 0
expect_out "Guaranteed   136.89 with confidence 0.95   estimated 152.73"
expect_failure 2 "--radius: of a log the data tell" report river-log.csv --discount 0.95 --radius 1 --out log.html
expect_failure 2 "--discount GAMMA is needed: a log has none" report river-log.csv --out log.html
expect_failure 2 "--policy optimal is made from the same data" report river-log.csv --discount 0.95 --policy optimal --out log.html
expect_failure 2 "are for a log; machine.npz is a model" report machine.npz --confidence 0.9 --out log.html
printf 'neither,model\nnor,log\n' >nothing.csv
expect_failure 3 "missing column" report nothing.csv --discount 0.9 --out log.html

# What is not found in time is left out, and said so.
run generate garnet large.npz --states 20000 --branch 4 --quiet
run report large.npz --time 1 --out large.html
expect_status 5
expect_err "the time was up"
expect_out "left out"
radii=$(sed -n 's/^ *radii *\([0-9]*\), proven at \([0-9]*\)$/\2 of \1 radii/p' stdout.txt)
grep -qF "proven at $radii" large.html || complain "the page counts other radii than '$radii'"
grep -qF 'Left out: ' large.html || complain "the page names what is left out"
(($(wc -c <large.html) < 500000)) || complain "a page of a large model is small"
run generate garnet middle.npz --states 200 --actions 6 --branch 5 --quiet
run report middle.npz --domain support --radius 2 --time 20 --out middle.html --json
(($(wc -c <middle.html) < 2000000)) || complain "2 MB at most for 200 states"

# Ctrl-C leaves no page.
"$NADIR" report large.npz --time 60 --out stopped.html >stdout.txt 2>stderr.txt </dev/null &
process=$!
sleep 1
kill -INT "$process"
wait "$process"
[[ $? == 7 ]] || complain "exit status 7"
[[ ! -e stopped.html ]] || complain "no page"

# Wrong usage.
run report machine.npz
expect_status 2
expect_err "--out PAGE is needed"
run report machine.npz --out page.html --radii 0:1
expect_status 2
run report machine.npz --out page.html --radii 0:1:500
expect_status 2
run report machine.npz --out page.html --time -1
expect_status 2
run report machine.npz --out machine.npz
expect_status 2
run report machine.npz --out nowhere/page.html
expect_status 6
run report nothing.npz --out page.html
expect_status 3
run report machine.npz --domain free --radius 50 --out page.html
expect_status 4

finish
