# --successors: what rows may reach besides their nominal successors.
source "$(dirname "$0")/../support/cli.sh"

cat >model.csv <<'END'
state,action,next_state,probability,reward
0,0,0,0.5,1
0,0,1,0.5,1
1,0,0,1,0
2,0,2,1,-5
END
evaluate=(evaluate model.csv --policy uniform --discount 0.9 --radius 0.1 --initial 0 --json --quiet)

# All states for every row are domain simplex; nothing new is domain support.
echo state,action,next_state >all.csv
for s in 0 1 2; do
    for t in 0 1 2; do echo "$s,0,$t" >>all.csv; done
done
printf 'state,action,next_state\n0,0,0\n0,0,1\n' >none.csv
printf 'state,action,next_state\n0,0,0\n0,0,1\n0,0,2\n' >one.csv
run "${evaluate[@]}" --domain simplex
simplex=$(number robust_return)
run "${evaluate[@]}" --domain support
support=$(number robust_return)
run "${evaluate[@]}" --successors all.csv
expect_status 0
expect_json domain '"support"'
awk -v a="$simplex" -v b="$(number robust_return)" 'BEGIN { d = a - b; exit !(d < 1e-9 && d > -1e-9) }' ||
    complain "not the return of domain simplex, $simplex"
run "${evaluate[@]}" --successors none.csv
expect_number robust_return "$support"
run "${evaluate[@]}" --successors one.csv
awk -v a="$simplex" -v b="$(number robust_return)" -v c="$support" 'BEGIN { exit !(a < b && b < c) }' ||
    complain "the return lies between those of simplex and support"

# The model that is written has the new successors.
run convert model.csv wide.npz --successors one.csv --quiet
expect_status 0
run info wide.npz --json --quiet
expect_json nonzeros 5

# What is wrong.
printf 'state,action,next_state\n0,0,1\n0,0,2\n' >less.csv
expect_failure 3 'state 0, action 0: successor 0 of the model is not listed' "${evaluate[@]}" --successors less.csv
printf 'state,action,next_state\n0,1,1\n' >other.csv
expect_failure 3 'action 1' "${evaluate[@]}" --successors other.csv
printf 'state,action,next_state,probability,reward\n0,0,0,0.5,1\n0,0,1,0.5,3\n1,0,0,1,0\n2,0,2,1,-5\n' >landing.csv
expect_failure 2 'take --frozen-rewards' evaluate landing.csv --policy uniform --discount 0.9 --radius 0.1 --successors one.csv
run evaluate landing.csv --policy uniform --discount 0.9 --radius 0.1 --successors one.csv --frozen-rewards --quiet
expect_status 0
finish
