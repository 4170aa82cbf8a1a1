# nadir info: text and JSON, wrong files, discounts.
source "$(dirname "$0")/../support/cli.sh"

cat >model.csv <<'END'
"idstatefrom","idaction","idstateto","probability","reward"
0,0,0,0.25,1
0,0,1,0.75,1
0,4,1,1,-2
1,0,0,1,3
1,0,2,0,7
END

run info model.csv --json
expect_status 0
expect_json format '"csv"'
expect_json states 3
expect_json rows 4
expect_json nonzeros 5
expect_json actions_min 1
expect_json actions_max 2
expect_json density 0.4166666666666667
expect_json reward_min -2
expect_json reward_max 7
expect_json rewards '"separable"' # the reward of a line of probability 0 counts
expect_json unseen '"additive"'
expect_json discount null
expect_json valid_radius 0
expect_json terminal_states 1
expect_json sha256 "\"$(sha256sum model.csv | cut -d' ' -f1)\""
expect_out '"warnings": ['
[[ $out != *"has no action"* ]] || complain "an end without actions is right: no warning"
expect_out "no discount"
expect_err "nadir: model.csv: 1 state has no action (2): terminal"

run info model.csv --json --quiet --discount 0.5
expect_status 0
expect_no_err
expect_json discount 0.5

run info model.csv --quiet
expect_status 0
expect_no_err
expect_out "model.csv (csv)"
expect_out "1 terminal"
expect_out "  terminal       state 2"

run info model.csv --quiet --json --costs
expect_json reward_max 2

run info model.csv --initial 1 --json --quiet
expect_status 0
expect_json unreachable_states 1
expect_failure 2 "no such" info model.csv --initial nowhere

# The norm of the valid radius: two states, a row of halves moves by (-x, x).
cat >even.csv <<'END'
idstatefrom,idaction,idstateto,probability,reward
0,0,0,0.5,1
0,0,1,0.5,1
1,0,0,0.5,2
1,0,1,0.5,2
END
for pair in "1 1" "inf 0.5"; do
    run info even.csv --json --quiet --norm "${pair% *}"
    expect_status 0
    expect_json valid_radius "${pair#* }"
done
run info even.csv --quiet
! grep -q "valid radius" stdout.txt || complain "the valid radius is for --verbose"
run info even.csv --verbose
expect_out "  valid radius   "
expect_failure 2 "the norm is 0.5; expected 1 to infinity" info even.csv --norm 0.5

# Options that the format would ignore.
expect_failure 2 "model.csv is craam CSV, which has no use for --rewards" info model.csv --rewards model.csv
expect_failure 2 "no use for --labels" info model.csv --labels model.csv
expect_failure 2 "no use for --layout" info model.csv --layout sas
expect_failure 2 "no use for --reward-model" info model.csv --reward-model r

# A discount outside [0, 1]: in the request it is ill-posed, in a file the file is bad.
expect_failure 4 "expected 0 <= discount <= 1" info model.csv --discount 1.5
expect_failure 4 "expected 0 <= discount <= 1" info model.csv --discount -0.1
cat >bad.MDP <<'END'
discount: 1.5
values: reward
states: 1
actions: 1
T: 0 identity
END
expect_failure 3 "bad.MDP: the discount is 1.5" info bad.MDP
run info bad.MDP --discount 0.9 --json --quiet
expect_status 0

# Files that are none.
mkdir folder.csv
expect_failure 3 "missing.csv: cannot open the file" info missing.csv
expect_failure 3 "a directory" info folder.csv
: >empty.csv
expect_failure 3 "empty.csv: the file is empty" info empty.csv
echo "hello" >hello.xyz
expect_failure 3 "hello.xyz: the content is of no known model format" info hello.xyz
cp model.csv secret.csv
chmod 000 secret.csv
if forbid; then
    expect_failure 3 "secret.csv: cannot open the file: Permission denied" info secret.csv
    mkdir locked
    chmod 555 locked
    expect_failure 6 "locked/out.npz: cannot write the file: Permission denied" convert model.csv locked/out.npz
    ordinary=()
fi

# Names of files in JSON: quotes, control characters, what is and what is not UTF-8.
odd=$'a"b\\c\n\x7f\xc3\xa4\xe2\x82\xac\xf0\x9f\x8c\x8a|\xff|\xc3|\xed\xa0\x80|\xc0\xaf.csv'
cp model.csv "$odd"
run info "$odd" --json --quiet
expect_status 0
bad=$'\xef\xbf\xbd'
expect_json file "\"a\\\"b\\\\c\\u000a\\u007f"$'\xc3\xa4\xe2\x82\xac\xf0\x9f\x8c\x8a'"|$bad|$bad|$bad$bad$bad|$bad$bad.csv\""

# An error is an object too, and nothing else is on stdout.
run info missing.csv --json
expect_status 3
expect_json exit_code 3
expect_json status '"NADIR_ERROR_FILE"'
finish
