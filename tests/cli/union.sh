# nadir evaluate and optimize --union: several kernels with a ball each, lists with radii, the files of the worst member.
source "$(dirname "$0")/../support/cli.sh"

for seed in 1 2 3; do
    run generate garnet m$seed.npz --states 6 --actions 3 --seed $seed --quiet
done

# The smallest of the members.
least=
for seed in 1 2 3; do
    run evaluate m$seed.npz --policy uniform --radius 0.05 --json
    expect_status 0
    value=$(number robust_return)
    least=$(printf '%s\n' $least "$value" | sort -g | head -n 1)
done
run evaluate m1.npz --union m2.npz --union m3.npz --policy uniform --radius 0.05 --json
expect_status 0
expect_no_err
expect_number robust_return "$least"
expect_json certified true
[[ $(grep -c '^      "model": ' stdout.txt) == 3 ]] || complain "expected three members"
run evaluate m1.npz --union m2.npz --policy uniform --radius 0.05 --quiet
expect_out "of 2 is the worst: m"
expect_out "  m2.npz                      0.05"

# The user's policy beside the robust one, in all balls.
run optimize m1.npz --union m2.npz --union m3.npz --radius 0.05 --policy uniform --json
expect_status 0
sed -i '1,/"compared"/d' stdout.txt
expect_number robust_return "$least"
expect_number states_differing 6

# A list with radii; the folder of the list counts.
mkdir -p folder
cp m2.npz m3.npz folder
printf 'model,radius\nm2.npz,0.1\nm3.npz,0\n' >folder/list.csv
run optimize m1.npz --union folder/list.csv --radius 0.05 --out robust.csv --json
expect_status 0
grep -q '"optimality_upper_bound"' stdout.txt || complain "expected an upper bound"
lower=$(number lower_bound)
upper=$(number optimality_upper_bound)
awk -v a="$lower" -v b="$upper" 'BEGIN { exit !(a <= b && a > 10.7) }' || complain "bounds $lower, $upper"
run evaluate m1.npz --union folder/list.csv --radius 0.05 --policy robust.csv --kernel k.npz --witness w.json --json
expect_status 0
expect_number lower_bound "$lower"
which=$(sed -n 's/^  "member": \(.*\),$/\1/p' stdout.txt)
case $which in 0) worst=m1.npz ;; 1) worst=folder/m2.npz ;; *) worst=folder/m3.npz ;; esac
run verify $worst --policy robust.csv --kernel k.npz --witness w.json
expect_status 0
run optimize m1.npz --union m2.npz --radius 0 --quiet
expect_status 0
expect_out "guarantee"

# Tables with outcomes: one of them, the mean, all.
cat >o.csv <<'END'
idoutcome,idstatefrom,idaction,idstateto,probability,reward
0,0,0,0,0.5,1
0,0,0,1,0.5,0
0,1,0,1,0.9,2
0,1,0,0,0.1,0
1,0,0,0,0.7,1
1,0,0,1,0.3,0
1,1,0,1,0.6,2
1,1,0,0,0.4,0
END
run evaluate o.csv --outcome 0 --discount 0.9 --policy uniform --radius 0 --json
expect_number robust_return 15.15625
run evaluate o.csv --outcome 1 --discount 0.9 --policy uniform --radius 0 --json
expect_number robust_return 9.19178082192
run evaluate o.csv --outcome mean --discount 0.9 --policy uniform --radius 0 --json
expect_number robust_return 11.3868613139
run evaluate o.csv --outcome 0 --union o.csv --discount 0.9 --policy uniform --radius 0 --json
expect_number robust_return 9.19178082192
expect_json member 2
grep -q '"model": "o.csv, outcome 1"' stdout.txt || complain "expected the name of an outcome"
gzip -k o.csv
run evaluate o.csv.gz --outcome mean --union o.csv.gz --discount 0.9 --policy uniform --radius 0 --json
expect_number robust_return 9.19178082192
expect_failure 3 "o.csv:9: no lines of outcome 7" info o.csv --outcome 7
expect_failure 2 "expected mean or a number" info o.csv --outcome median
expect_failure 2 "which has no use for --outcome" info m1.npz --outcome 1
grep -v '^1,1' o.csv >short.csv
expect_failure 3 "state 1, action 0: no lines of outcome 1" info short.csv --outcome 1
expect_failure 3 "state 1" info short.csv --outcome mean
expect_failure 3 "no lines of outcome 1" evaluate o.csv --outcome 0 --union short.csv --discount 0.9 --policy uniform --radius 0
sed 's/^0,0,0,0/-1,0,0,0/' o.csv >wrong.csv
expect_failure 3 "wrong.csv:2: outcome -1" info wrong.csv --outcome 1
cut -d, -f2- o.csv | sed 's/^.,1,/x,1,/' | head -3 >plain.csv
expect_failure 3 "--outcome is for tables" info plain.csv --outcome 1

# What is wrong is named.
run generate garnet other.npz --states 7 --actions 3 --quiet
expect_failure 3 "member 2 of the union has 7 states, and the first model 6" \
    evaluate m1.npz --union other.npz --policy uniform --radius 0
run generate garnet other.npz --states 6 --actions 2 --quiet
expect_failure 3 "other actions in state 0" evaluate m1.npz --union other.npz --policy uniform --radius 0
run generate garnet other.npz --states 6 --actions 3 --discount 0.8 --quiet
expect_failure 3 "the discount 0.8" evaluate m1.npz --union other.npz --policy uniform --radius 0
run evaluate m1.npz --union other.npz --policy uniform --radius 0 --discount 0.9 --quiet
expect_status 0
printf 'model,radius\nm2.npz,-1\n' >list.csv
expect_failure 3 "list.csv:2: radius -1; expected 0 or more" evaluate m1.npz --union list.csv --policy uniform --radius 0
printf 'model\n' >list.csv
expect_failure 3 "no models follow" evaluate m1.npz --union list.csv --policy uniform --radius 0
printf 'model\nnone.npz\n' >list.csv
expect_failure 3 "none.npz" evaluate m1.npz --union list.csv --policy uniform --radius 0
expect_failure 2 "--union and --horizon cannot both be given" \
    evaluate m1.npz --union m2.npz --policy uniform --radius 0 --horizon 3
expect_failure 2 "--union and --checkpoint cannot both be given" \
    optimize m1.npz --union m2.npz --radius 0 --checkpoint c
expect_failure 2 "domains simplex, support and box" optimize m1.npz --union m2.npz --radius 0.01 --domain free
finish
