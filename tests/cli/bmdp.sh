# Interval models of bmdp-tool: read, solved, written, and what is wrong in them.
source "$(dirname "$0")/../support/cli.sh"

cat >toy.txt <<'END'
3
2
1
2
0 0 1 0.2 0.5
0 0 2 0.5 0.8
0 1 0 0.1 0.3
0 1 2 0.7 0.9
1 0 0 0.4 0.6
1 0 1 0.4 0.6
1 1 1 1 1
END
run info toy.txt --json
expect_json format '"bmdp"'
expect_json states 3
expect_json intervals 6
run convert toy.txt toy.bmdp --quiet
expect_status 0
diff <(sed 's/ //g' toy.txt) <(sed 's/ //g' toy.bmdp) || complain "the file changed"
run convert toy.bmdp toy.drn --quiet
run convert toy.drn back.bmdp --quiet
cmp toy.bmdp back.bmdp || complain "not the same by way of DRN"
# To the end without state 1, uniform policy, worst case: w = 0.5 * 0.5 + 0.5 (0.3 w + 0.7).
run evaluate toy.txt --goal terminal --avoid 1 --initial 0 --policy uniform --json
expect_status 0
expect_json certified true
expect_number robust_return 0.705882352941
run optimize toy.txt --goal terminal --initial 0 --json
expect_status 0
expect_json certified true
expect_json domain '"box"'
expect_number robust_return 1

wrong() {
    local words=$1
    shift
    printf "$@" >wrong.txt
    expect_failure 3 "$words" info wrong.txt
}
wrong "wrong.txt:4: a terminal state is missing" '3\n2\n1\n9\n0 0 1 0.2 0.5\n'
wrong "the number of terminal states is missing" '3\n2\n4\n0 0 1 0.2 0.5\n'
wrong "no transitions follow" '3\n2\n0\n'
wrong "expected five numbers" '3\n2\n0\n0 0 1 0.5\n'
wrong "expected five numbers" '3\n2\n0\n0 0 1 0.5 0.6 7\n'
wrong "the file has the states 0 to 2 and the actions 0 to 1" '3\n2\n0\n0 2 1 0.5 0.6\n'
wrong "the file has the states 0 to 2" '3\n2\n0\n0 0 3 0.5 0.6\n'
wrong "state 0, action 0" '3\n2\n0\n0 0 1 0.2 0.5\n'
wrong "wrong.txt:4" '3\n2\n0\n0 0 1 0.6 0.5\n'
finish
