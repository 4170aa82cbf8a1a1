# Usage: help, version, wrong options, exit statuses.
source "$(dirname "$0")/../support/cli.sh"

run
expect_status 2
expect_err "Usage: nadir COMMAND"

run --help
expect_status 0
expect_no_err
expect_out "Exit status: 0 done; 2 wrong usage"
for command in info convert generate solve evaluate gradient compare norm; do
    expect_out "  $command "
    run "$command" --help
    expect_status 0
    expect_no_err
    expect_out "Usage: nadir $command"
    expect_out "--json"
    direct=$out
    run help "$command"
    [[ $out == "$direct" ]] || complain "help $command and $command --help differ"
    run --help
done

run --version
expect_status 0
[[ $out =~ ^nadir\ [0-9]+\.[0-9]+\.[0-9]+$ ]] || complain "expected a version"

expect_failure 2 "there is no command 'inof'; did you mean info?" inof
expect_failure 2 "there is no command 'evalute'; did you mean evaluate?" evalute
expect_failure 2 "there is no command 'xyzzy'; 'nadir --help' lists them" xyzzy
expect_failure 2 "expected MODEL" info
expect_failure 2 "unexpected argument 'b'" info a b
expect_failure 2 "unknown option --discuont; did you mean --discount?" info a --discuont 0.9
expect_failure 2 "unknown option -x" info a -x
expect_failure 2 "--discount is given twice" info a --discount 0.9 --discount=0.8
expect_failure 2 "--discount needs a value: GAMMA" info a --discount
expect_failure 2 "--discount: 'zero' given, expected a number" info a --discount zero
expect_failure 2 "--discount: 'nan' given" info a --discount nan
expect_failure 2 "--threads: '-1' given, expected a whole number" info a --threads -1
expect_failure 2 "--seed: '99999999999999999999' given" info a --seed 99999999999999999999
expect_failure 2 "--layout: 'both' given, expected auto|sas|ass" info a --layout both
expect_failure 2 "--json takes no value" info a --json=1
expect_failure 2 "expected KIND OUT" generate garnet
expect_failure 3 "--help: cannot open the file" info -- --help

# Output that cannot be written is noticed.
if [[ -e /dev/full ]]; then
    last="nadir --help >/dev/full"
    "$NADIR" --help >/dev/full 2>stderr.txt
    status=$?
    err=$(cat stderr.txt)
    expect_status 6
    expect_err "writing to standard output failed"
fi
expect_failure 2 "--domain: 'suport' given, expected simplex|support|free|box; did you mean support?" evaluate a --domain suport
expect_failure 2 "--set: 'saa' given, expected nonrect|s|sa; did you mean sa?" evaluate a --set saa
expect_failure 2 "--layout needs a value: auto|sas|ass" info a --layout

expect_failure 2 "--threads: at most 2147483647" info a --threads 9223372036854775807
expect_failure 2 "--threads: '9223372036854775808' given" info a --threads 9223372036854775808

# A policy that is neither a file nor one of the names.
run generate machine model.npz --quiet
expect_failure 3 "--policy: 'optmal' is neither a file nor uniform or optimal; did you mean optimal?" evaluate model.npz --policy optmal --radius 0.1
expect_failure 3 "--policy: 'mine.csv' is neither a file nor uniform or optimal" evaluate model.npz --policy mine.csv --radius 0.1

# An error object, wherever --json stands.
for where in "info --json a --bogus" "info a --bogus --json" "info --json" "generate x --states one --json"; do
    # shellcheck disable=SC2086
    run $where
    expect_status 2
    expect_json exit_code 2
    expect_json status '"NADIR_ERROR_ARGUMENT"'
done
finish
