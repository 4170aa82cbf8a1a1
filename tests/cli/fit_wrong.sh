# nadir fit: wrong logs. Each ends with exit 3 (2: what was asked for), and a sentence that names the file, the line and the column
# where there are any, and says what to do.
source "$(dirname "$0")/../support/cli.sh"

count=0
# wrong LINE WORDS TEXT [OPTION...]: a log with this text; LINE 0: no line is at fault.
wrong() {
    local line=$1 words=$2 place=bad.csv
    printf "$3" >bad.csv
    shift 3
    [[ $line == 0 ]] || place="bad.csv:$line: "
    run fit bad.csv --discount 0.9 "$@"
    count=$((count + 1))
    [[ $status == 3 || $status == 2 ]] || complain "expected exit 3 or 2"
    expect_err "$place"
    expect_err "$words"
    [[ -z $out ]] || complain "expected nothing on stdout"
    [[ $(grep -c '^nadir' stderr.txt) -ge 1 && $(wc -l <stderr.txt) -le 2 ]] || complain "expected one sentence"
}
T='state,action,next_state,reward'
E='episode,step,state,action,reward'

# Headers.
wrong 0 'expected a header' ''
wrong 0 'expected a header' '# only a comment\n\n'
wrong 1 'missing column `state`; the header must name' '0,0,1,5\n1,0,0,2\n'
wrong 1 'with commas (not semicolons or tabs)' 'state;action;next_state\n0;0;1\n'
wrong 1 'with commas (not semicolons or tabs)' 'state\taction\tnext_state\n0\t0\t1\n'
wrong 1 'missing column `action`; the header must name' 'state,next_state,reward\n0,1,1\n'
wrong 1 'or say what they are called (--columns state=NAME,action=NAME,...); not known: `move`' \
    'obs,move,rew,next_obs\n0,0,1,1\n'
wrong 1 'with `episode` or `done` next states are those of the following lines' 'state,action,reward\n0,0,1\n'
wrong 1 'missing `episode`' 'step,state,action,reward\n0,0,0,1\n'
wrong 1 'unknown columns: `colour`; take them out, or say' "$T,colour\n0,0,1,1,red\n"
wrong 1 'twice: `obs` and `state`; take one out' "obs,$T\n0,0,0,1,1\n"
wrong 1 'twice: `state` and `state`; take one out' "$T,state\n0,0,1,1,0\n"
wrong 1 'twice: `done` and `terminated`; take one out' "$T,done,terminated\n0,0,1,1,0,0\n"
wrong 1 'this is a model, not data' 'idstatefrom,idaction,idstateto,probability,reward\n0,0,0,1,0\n'
wrong 1 'missing `probability`; samples have the columns' 'idoutcome,idstatefrom,idaction,idstateto\n0,0,0,0\n'
wrong 1 'out of place: `count`; trajectories have' 'episode,state,action,reward,count\n0,0,0,1,1\n'
wrong 1 'out of place: `truncated`; counts have' 'state,action,next_state,count,truncated\n0,0,0,1,1\n'

# What columns are called.
wrong 1 'missing column `from`; the header must name' "$T\n0,0,1,1\n" --columns state=from
usage() { # WORDS COLUMNS
    printf "$T\n0,0,1,1\n" >bad.csv
    expect_failure 2 "$1" fit bad.csv --discount 0.9 --columns "$2"
    count=$((count + 1))
}
usage 'columns: `colour=x`; expected state=NAME' colour=x
usage 'columns: `state`; expected state=NAME' state
usage 'each once at most' state=state,state=obs

# Cells.
wrong 3 '3 cells; expected 4, one for each column of the header' "$T\n0,0,1,1\n0,0,1\n"
wrong 2 '5 cells; expected 4' "$T\n0,0,1,1,\n"
wrong 3 '`state` is `0.25`; expected a whole number or a name' "$T\n0,0,1,1\n0.25,0,1,1\n"
wrong 2 '`state` is ``; expected a whole number or a name' "$T\n,0,1,1\n"
wrong 2 '`state` is `nan`; expected a whole number or a name' "$T\nnan,0,1,1\n"
wrong 2 '`action` is ``; expected' "$T\n0,,1,1\n"
wrong 2 '`action` is `1e30`; expected' "$T\n0,1e30,1,1\n"
wrong 2 '`next_state` is ``; expected' "$T\n0,0,,1\n"
wrong 2 'state -1; expected numbers from 0' "$T\n-1,0,1,1\n"
wrong 3 'action -1; expected numbers from 0' "$T\n0,0,1,1\n0,-1,1,1\n"
wrong 2 'next state -1; expected numbers from 0' "$T\n0,0,-1,1\n"
wrong 2 'state 2147483647; expected numbers from 0' "$T\n2147483647,0,1,1\n"
wrong 3 '`state` is `goal`, a name, but line 2 has a number: all are whole numbers from 0, or all are names' "$T\n0,0,1,1\ngoal,0,1,1\n"
wrong 2 '`next_state` is `1`, a number, but line 2 has a name' "$T\nstart,0,1,1\n"
wrong 3 '`action` is `left`, a name' "$T\n0,0,1,1\n0,left,1,1\n"
wrong 2 'the name in `state` is not UTF-8; save the file in that encoding' "$T\n\\377,0,b,1\n"
wrong 2 'a zero byte in a text file' "$T\n0,0\\000,1,1\n"
wrong 2 '`reward` is `much`; expected a number' "$T\n0,0,1,much\n"
wrong 2 '`reward` is ``; expected a number' "$T\n0,0,1,\n"
wrong 2 '`reward` is `1;5`; expected a number' "$T\n0,0,1,1;5\n"
wrong 3 'reward nan; expected a finite number' "$T\n0,0,1,1\n0,0,1,nan\n"
wrong 2 'reward inf; expected a finite number' "$T\n0,0,1,inf\n"
wrong 2 'count -1; expected a finite number, 0 or more' 'state,action,next_state,count\n0,0,1,-1\n'
wrong 2 'count nan; expected a finite number, 0 or more' 'state,action,next_state,count\n0,0,1,nan\n'
wrong 0 'all counts are 0' 'state,action,next_state,count\n0,0,1,0\n'
wrong 0 'no transitions; expected at least one' "$T\n"
wrong 0 'numbers begin at 0 and have no large gaps' "$T\n0,0,1000000,1\n"
wrong 0 'numbers begin at 0 and have no large gaps' "$T\n0,1000000,1,1\n"
wrong 2 'next state 5; expected numbers from 0 to 2, as asked for' "$T\n0,0,5,1\n" --states 3
wrong 2 'action 5; expected numbers from 0 to 1, as asked for' "$T\n0,5,0,1\n" --actions 2
wrong 0 'states are names: their number is that of the names' "$T\na,0,b,1\n" --states 3
wrong 0 'actions are names: their number is that of the names' "$T\n0,a,1,1\n" --actions 3

# Quotes, line ends and what other programs write.
wrong 2 'the quote of `"a` is not closed' "$T\n\"a,x,b,1\n"
wrong 3 'the quote of `"x` is not closed' "$T\na,x,b,1\na,\"x\n\",b,1\n"
wrong 2 'the quote of `"a"b` is not closed' "$T\n\"a\"b,x,b,1\n"
wrong 1 'the quote of `"state` is not closed' '"state,action,next_state\n0,0,1\n'
wrong 1 'lines end with CR alone; expected LF or CRLF' "$T\r0,0,1,1\r"
wrong 1 'or one in UTF-16? (save it as UTF-8)' '\377\376s\000t\000'
wrong 2 '`next_state` is `NA`; expected a whole number or a name' "$T\na,x,NA,1\n"
wrong 2 '`state` is `<NA>`; expected' "$T\n<NA>,x,b,1\n"
wrong 2 '`reward` is `NA`; expected a number' "$T\n0,0,1,NA\n"
wrong 2 '`reward` is `1,5`; expected a number' "$T\n0,0,1,\"1,5\"\n"
wrong 2 '`reward` is `0x10`; expected a number' "$T\n0,0,1,0x10\n"
wrong 2 '`reward` is `1_000`; expected a number' "$T\n0,0,1,1_000\n"
wrong 2 'reward inf; expected a finite number' "$T\n0,0,1,1e400\n"
wrong 0 'the sum of the rewards is larger than any number' "$T\n0,0,1,1e308\n1,0,0,-1e308\n"
wrong 2 '`state` is `99999999999999999999`; expected' "$T\n99999999999999999999,0,1,1\n"
wrong 2 '5 cells; expected 4' "$T\n0,0,1,1,5\n"

# Ends of episodes.
wrong 2 '`done` is `2`; expected 0, 1, false, true, no or yes' "$T,done\n0,0,1,1,2\n"
wrong 2 '`done` is ``; expected 0, 1, false, true, no or yes' "$T,done\n0,0,1,1,\n"
wrong 2 '`terminated` is `maybe`; expected' "$T,terminated\n0,0,1,1,maybe\n"
wrong 2 '`truncated` is `-1`; expected' "$T,truncated\n0,0,1,1,-1\n"
wrong 3 'no next state; only a line that is done or truncated may leave it out' "$T,done\n0,0,1,1,0\n0,0,,1,0\n"
wrong 3 'goes on, but the line before is `done`; give what follows an episode of its own' "$E,done\n0,0,0,0,1,1\n0,1,1,0,1,0\n"
wrong 2 'no action; only the last step of an episode may leave it out' "$E,done\n0,0,0,,1,1\n"

# Episodes.
wrong 3 'episode 0 after episode 1: out of order; sort the data by episode and step' "$E\n1,0,0,0,1\n0,0,1,0,1\n"
wrong 4 'episode `x` after episode `y`: out of order; sort' "$E\nx,0,0,0,1\ny,0,1,0,1\nx,0,1,0,1\n"
wrong 2 '`episode` is `1.5`; expected a whole number or a name' "$E\n1.5,0,0,0,1\n"
wrong 3 'step 2 of episode 0 follows step 0; expected 1' "$E\n0,0,0,0,1\n0,2,1,0,1\n"
wrong 2 'episode 0 begins with step 3; expected step 0 or 1' "$E\n0,3,0,0,1\n"
wrong 2 '`step` is `first`; expected a whole number' "$E\n0,first,0,0,1\n"
wrong 3 'time 1 of episode 0 follows time 2; sort the data by episode and time' 'episode,time,state,action,reward\n0,2,0,0,1\n0,1,1,0,1\n'
wrong 3 'two steps of episode 0 have the same time; where the lines are in order, leave the time out' 'episode,time,state,action,reward\n0,1,0,0,1\n0,1,1,0,1\n'
H='episode,time,state,action,reward'
for time in 10:30 2024-13-01 2024-01-32 2024-1 2024-01-01T 2024-01-01T10 '2024-01-01 10:61' '2024-01-01 10:30:61' '2024-01-01 10:30:x' '2024-01-01 10:30+' '2024-01-01 10:30 CET' \
    01/02/2024; do
    wrong 2 "\`time\` is \`$time\`; expected a number or a date such as 2024-03-05 10:30" "$H\n0,$time,0,0,1\n"
done
wrong 3 '`time` is `2024-01-01`, a date; the lines before have numbers' "$H\n0,1,0,0,1\n0,2024-01-01,0,0,1\n"
wrong 3 '`time` is `7`, a number; the lines before have dates' "$H\n0,2024-01-01,0,0,1\n0,7,0,0,1\n"
wrong 3 'the time of a step of episode 0 is before that of the last; sort the data by episode and time' "$H\n0,2024-02-29 10:30,0,0,1\n0,2024-02-29,0,0,1\n"
wrong 3 'no action; only the last step' "$E\n0,0,0,0,1\n0,1,1,,\n0,2,0,0,1\n"
wrong 2 'no reward; only the last step' "$E\n0,0,0,0,\n0,1,1,0,1\n"
wrong 3 'state `c`, but the step before says that the next state is `b`' "episode,$T\n0,a,up,b,1\n0,c,up,b,1\n"

# Posterior samples.
wrong 2 'probability 1.5; expected a number from 0 to 1' 'idoutcome,idstatefrom,idaction,idstateto,probability\n0,0,0,0,1.5\n'
wrong 2 'the probabilities sum to 0.5; expected 1' 'idoutcome,idstatefrom,idaction,idstateto,probability\n0,0,0,0,0.5\n'

# Models, and files that are no tables.
run generate riverswim river.npz --quiet
for ending in npz drn tra; do
    [[ $ending == npz ]] || run convert river.npz "river.$ending" --quiet
    expect_failure 3 "river.$ending is a model" fit "river.$ending" --discount 0.9
    expect_err "evaluate or optimize it as it is"
    count=$((count + 1))
done
expect_failure 3 "nowhere.csv" fit nowhere.csv --discount 0.9
expect_failure 3 "" fit . --discount 0.9
printf '%s\n0,0,1,1\n1,0,0,0\n' "$T" >log.csv
for words in "--method bootstrap" "--scales ones" "--set sa"; do # of the ball of the kernel
    expect_failure 2 "${words%% *} is about a ball that holds the kernel: leave it out" fit log.csv --discount 0.9 --guarantee return $words
    count=$((count + 1))
done
((count >= 100)) || complain "only $count wrong logs"
finish
