# nadir evaluate --explain: table, JSON that adds up, pictures.
source "$(dirname "$0")/../support/cli.sh"

generate_frozen riverswim river.npz
run generate gridworld grid.npz --quiet

run evaluate river.npz --policy uniform --radius 0.02 --domain support --explain
expect_status 0
expect_no_err
expect_out "Who does the damage (6 rows change; shares add up to the whole loss):"
expect_out "82.4 %"
expect_out "state 4, right: state 5 → state 3"
run evaluate grid.npz --policy uniform --radius 0.02 --explain --explain-rows 2
# The grid is symmetric: from r3c4 or from r4c3 is a matter of rounding.
grep -qE '(r3c4, down|r4c3, right): r4c4 → r0c0' stdout.txt || complain "the rows that do most damage"
expect_out " other rows"
[[ $(grep -c '^ .* %  ' stdout.txt) == 3 ]] || complain "two rows and the rest"
run evaluate grid.npz --policy uniform --radius 0.02 --explain --explain-rows 100
grep -q -- '→ r4c4' stdout.txt && complain "nobody is harmed by landing on the goal"
run evaluate river.npz --policy uniform --radius 0 --explain
expect_out "No row changes."

# A number of rows asks for them; in the best case they bring a gain.
run evaluate river.npz --policy uniform --radius 0.02 --explain-rows 1
expect_out "Who does the damage"
[[ $(grep -c '^ .* %  ' stdout.txt) == 2 ]] || complain "one row and the rest"
run evaluate river.npz --policy uniform --radius 0.02 --explain --optimistic
expect_out "Best case  "
expect_out "Most gain  "
expect_out "Who brings the gain (12 rows change; shares add up to the whole gain):"
[[ $out != *" -"[0-9]* ]] || complain "a gain is not negative"

# The penalties of the rows add up to the penalty.
for ball in "--domain free" "--domain simplex" "--domain support" "--set sa" "--domain support --optimistic" "--norm 1"; do
    run evaluate grid.npz --policy uniform --radius 0.02 $ball --explain --json
    expect_status 0
    awk '/^  "penalty"/ { gsub(",", ""); whole = $2 }
        /^      "penalty"/ { gsub(",", ""); sum += $2 }
        /^      "share"/ { gsub(",", ""); shares += $2 }
        END { d = sum / whole - 1; e = shares - 1; exit !(d < 1e-9 && d > -1e-9 && e < 1e-9 && e > -1e-9) }' stdout.txt ||
        complain "the rows do not add up"
done
for key in explain state action state_name action_name share penalty mass from to from_name to_name lost gained explain_rest rows; do
    expect_out "\"$key\": "
done
# What is said to move from one successor to another does: no more than the one loses, nor than the other gains; where it is
# less than the row moves, there are other moves. The picture says the same.
cat >lift.csv <<'END'
state,action,next_state,probability,reward
new,run,new,0.9,10
new,run,closed,0.02,30
new,run,stuck,0.08,-50
stuck,mend,new,1,-20
END
run evaluate lift.csv --discount 0.95 --initial new --policy uniform --radius 0.12 --explain
expect_out "Most damage  new, run: new → stuck and 1 other move, "
moved=$(sed -nE 's/^ .* new, run: new → stuck ([0-9.]+) and 1 other move$/\1/p' stdout.txt)
mass=$(sed -nE 's/^ .* %  .*  ([0-9.]+)  new, run: .*/\1/p' stdout.txt)
awk -v moved="$moved" -v mass="$mass" 'BEGIN { exit !(moved > 0 && mass - moved > 0.01 && mass - moved < 0.0201) }' ||
    complain "of $mass that move $moved go from new to stuck; closed has 0.02"
run evaluate lift.csv --discount 0.95 --initial new --policy uniform --radius 0.12 --explain --json
awk '/"(lost|gained|moved|mass|moves)"/ { gsub("[\",:]", ""); value[$1] = $2 }
    /"new": / { low = value["lost"] < value["gained"] ? value["lost"] : value["gained"]
                if (value["moved"] != low || value["moved"] > value["mass"] || value["moves"] < 1) exit 1 }' stdout.txt ||
    complain "more moves than there is"
if command -v gnuplot >/dev/null; then
    run evaluate lift.csv --discount 0.95 --initial new --policy uniform --radius 0.12 --explain-plot lift.svg
    grep -q ">$(printf '%.2g' "$moved")<" lift.svg || complain "the picture does not say $moved"
fi

run evaluate grid.npz --policy uniform --radius 0.02 --explain --explain-rows 4 --json
[[ $(grep -c '^      "state": ' stdout.txt) == 4 ]] || complain "4 rows"
awk '/^      "share"/ || /^    "share"/ { gsub(",", ""); shares += $2 } END { exit !(shares > 1 - 1e-9 && shares < 1 + 1e-9) }' \
    stdout.txt || complain "the rest is missing"
run evaluate grid.npz --policy uniform --radius 0.02 --json
[[ $out != *'"explain"'* ]] || complain "nobody asked"

# Pictures.
expect_failure 2 "a picture ends with .svg or .png" evaluate grid.npz --policy uniform --radius 0.02 --explain-plot out.gif
if command -v gnuplot >/dev/null; then
    for file in bars.png bars.svg; do
        run evaluate river.npz --policy uniform --radius 0.02 --explain-plot $file
        expect_status 0
        expect_no_err
        [[ $out != *"Who does the damage"* ]] || complain "the table was not asked for"
    done
    for file in map.png map.svg; do
        run evaluate grid.npz --policy uniform --radius 0.02 --explain-plot $file
        expect_status 0
    done
    run evaluate grid.npz --goal r1c1 --policy optimal --radius 0.02 --explain-plot goal.svg
    expect_status 0
    grep -q ">goal<" goal.svg || complain "the goal that is asked for is not named"
    [[ $(head -c 4 bars.png | tail -c 3) == PNG && $(head -c 4 map.png | tail -c 3) == PNG ]] || complain "no PNG"
    grep -q "state 4, right" bars.svg || complain "the bars are not named"
    grep -q "river.npz, policy uniform: what does the damage" bars.svg || complain "the bars have no title"
    grep -q "largest moves (orange: not in the model)" bars.svg || complain "no arrows from successor to successor"
    for word in "grid.npz, policy uniform" "by cell" ">goal<" ">policy (short" ">attack: where" "one budget for the whole kernel"; do
        grep -q "$word" map.svg || complain "the map does not say $word"
    done
    # Cells are counted in whole numbers, and a flat map has few lines beside it.
    run generate gridworld narrow.npz --width 2 --height 9 --quiet
    run evaluate narrow.npz --policy uniform --radius 0.02 --explain-plot narrow.svg
    ! grep -q -- '-0\.5' narrow.svg || complain "half cells"
    run generate gridworld flat.npz --width 60 --height 20 --quiet
    run evaluate flat.npz --policy uniform --radius 0.02 --domain support --explain-plot flat.svg
    [[ $(grep -c ' %</text>' flat.svg) -le 5 ]] || complain "shares stand too close"
    run evaluate river.npz --policy uniform --radius 0.02 --optimistic --explain-plot gain.svg
    grep -q "share of the gain" gain.svg || complain "a gain"
    run evaluate river.npz --policy uniform --radius 0 --explain-plot nothing.svg
    expect_status 0
    # Names that gnuplot could take for commands.
    cat >hostile.MDP <<'END'
discount: 0.9
values: reward
states: a`touch${IFS}hurt` b'c@d
actions: x"y z\n
T: * uniform
R: x"y : a`touch${IFS}hurt` : * : * 1
END
    run evaluate hostile.MDP --policy uniform --radius 0.1 --explain --explain-plot hostile.svg
    [[ ! -e hurt ]] || complain "gnuplot ran a name"
    ls | grep -q 'tmp$' && complain "a temporary file is left"
    expect_failure 6 "nosuch/map.svg" evaluate grid.npz --policy uniform --radius 0.02 --explain-plot nosuch/map.svg
fi
enough_for_memcheck # which hides from a program that another one is not there

PATH=/nowhere
"$NADIR" evaluate grid.npz --policy uniform --radius 0.02 --explain-plot none.svg >stdout.txt 2>stderr.txt
status=$?
PATH=/usr/local/bin:/usr/bin:/bin
err=$(cat stderr.txt)
expect_status 6
expect_err "pictures need gnuplot"
[[ ! -e none.svg ]] || complain "there is a picture"
finish
