# nadir evaluate --reward-radius: uncertain rewards beside an uncertain kernel.
source "$(dirname "$0")/../support/cli.sh"

run generate garnet m.npz --states 6 --actions 3 --seed 1 --quiet
run evaluate m.npz --policy uniform --radius 0.1 --json
plain=$(number robust_return)

# p = inf: all rewards are lower, 0.1 / (1 - 0.95) = 2 in all.
run evaluate m.npz --policy uniform --radius 0.1 --reward-radius 0.1 --reward-norm inf --kernel-model worst.npz --json
expect_status 0
expect_json certified true
expect_number reward_radius 0.1
value=$(number robust_return)
awk -v a="$plain" -v b="$value" 'BEGIN { d = a - 2 - b; exit !(d < 1e-9 && d > -1e-9) }' || complain "$value is not $plain - 2"
run evaluate worst.npz --policy uniform --radius 0 --json
expect_number nominal_return "$value"

# A known kernel, and bounds that are apart.
run evaluate m.npz --policy uniform --radius 0 --reward-radius 0.5 --json
expect_json certified true
expect_json bound '"known-kernel"'
run evaluate m.npz --policy uniform --radius 0.1 --reward-radius 0.1 --json
expect_status 0
expect_json bound '"chords"'
lower=$(number lower_bound)
found=$(number robust_return)
awk -v a="$lower" -v b="$found" -v c="$plain" 'BEGIN { exit !(a <= b && b < c && b - a < 0.01) }' || complain "$lower, $found"
run evaluate m.npz --policy uniform --radius 0.1 --reward-radius 0.1 --reward-norm 1 --quiet
expect_out "proven"
expect_out "rewards    radius 0.1, norm 1"
run evaluate m.npz --policy uniform --radius 0.1 --reward-radius 0 --json
expect_number robust_return "$plain"

expect_failure 2 "--reward-radius and --kernel cannot both be given" \
    evaluate m.npz --policy uniform --radius 0.1 --reward-radius 0.1 --kernel k.npz
expect_failure 2 "--reward-radius and --union cannot both be given" \
    evaluate m.npz --policy uniform --radius 0.1 --reward-radius 0.1 --union m.npz
expect_failure 2 "--reward-norm is for --reward-radius" evaluate m.npz --policy uniform --radius 0.1 --reward-norm 1
expect_failure 2 "the radius of the rewards is -2" evaluate m.npz --policy uniform --radius 0.1 --reward-radius -2
expect_failure 2 "expected 0 or more, and 1 to infinity" \
    evaluate m.npz --policy uniform --radius 0.1 --reward-radius 1 --reward-norm 0.5
run generate machine machine.npz --quiet
expect_failure 2 "paid on landing" evaluate machine.npz --policy uniform --radius 0.1 --reward-radius 0.1
run evaluate machine.npz --policy uniform --radius 0.1 --reward-radius 0.1 --frozen-rewards --json
expect_status 0
run evaluate machine.npz --policy uniform --radius 0.1 --reward-radius 0.1 --domain support --json
expect_status 0
finish
