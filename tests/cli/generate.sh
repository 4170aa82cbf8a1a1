# nadir generate: every kind, seeds, wrong settings.
source "$(dirname "$0")/../support/cli.sh"

for kind in random garnet riverswim machine inventory forest gridworld; do
    run generate "$kind" "$kind.npz" --json
    expect_status 0
    expect_json kind "\"$kind\""
    run info "$kind.npz" --json
    expect_status 0
done

run generate garnet a.npz --seed 1 --quiet
run generate garnet b.npz --seed 1 --quiet
run generate garnet c.npz --seed 2 --quiet
cmp -s a.npz b.npz || complain "the same seed gives different files"
! cmp -s a.npz c.npz || complain "different seeds give the same file"

run generate riverswim river.csv --discount 0.95
expect_status 0
run info river.csv --json --quiet
expect_json states 6
expect_json rows 12
expect_json nonzeros 22

expect_failure 2 "there is no" generate nonesuch out.npz
expect_failure 2 "riverswim" generate riverswim out.npz --branch 3
expect_failure 2 "branch" generate garnet out.npz --branch 0.5
expect_failure 2 "branch" generate garnet out.npz --states 3 --branch 4
expect_failure 2 "branch is 100000000; expected 1 to 67108864" \
    generate garnet out.npz --states 100000000 --actions 1 --branch 100000000
expect_failure 4 "discount" generate garnet out.npz --discount 1
[[ ! -e out.npz ]] || complain "a failed generate left a file"
finish
