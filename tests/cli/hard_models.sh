# Models on which something went wrong once, where a folder of them is at hand: what is certified verifies with every
# backend and is narrow, bounds stay below the nominal return, shares add up, known kernels are no worse than what is
# found, and no search takes long.
source "$(dirname "$0")/../support/cli.sh"
folder=${NADIR_FOREIGN_MODELS:-}/hard
[[ -d $folder ]] || exit 77
memcheck && exit 77 # minutes, and nothing that smaller models do not show

# Whether what awk says of numbers by these keys holds.
holds() {
    local -a set=()
    local key
    for key in nominal_return robust_return penalty lower_bound upper_bound; do
        set+=(-v "$key=$(sed -n "s/^  \"$key\": \([^,]*\),\{0,1\}\$/\1/p" stdout.txt | head -n 1)")
    done
    awk "${set[@]}" "BEGIN { exit !($1) }" || complain "expected $1"
}

# model | policy | options
while IFS='|' read -r model policy options; do
    policy=${policy/FOLDER/$folder}
    files=("$folder/$model.npz" --policy "$policy")
    # shellcheck disable=SC2086
    run evaluate "${files[@]}" $options --kernel kernel.npz --witness witness.json --explain --json --quiet
    expect_status 0
    expect_json certified true
    holds 'upper_bound - lower_bound <= 1e-6 * penalty'
    holds 'upper_bound <= nominal_return && penalty >= 0'
    shares=$(sed -n 's/^ *"share": \([^,]*\),*$/\1/p' stdout.txt | awk '{ sum += $1 } END { print (sum - 1) ^ 2 < 1e-18 }')
    [[ $shares == 1 ]] || complain "shares do not add up to 1"
    verified=0
    for backend in lapack klu krylov; do
        run verify "${files[@]}" --kernel kernel.npz --witness witness.json --backend $backend --quiet
        if [[ $status != 2 ]]; then # klu takes no dense kernel
            expect_status 0
            verified=$((verified + 1))
        fi
    done
    ((verified >= 2)) || complain "verified by $verified backends"
done <<'END'
vf_5003106|FOLDER/vf_5003106_policy.npy|--radius 0.3621437616073026
vf_5003170|FOLDER/vf_5003170_policy.npy|--radius 0.011271486682639883
ub_9504694|FOLDER/ub_9504694_policy.npy|--radius 0.24510813243306012 --domain support
cert_5000140|FOLDER/cert_5000140_policy.npy|--radius 0.024813343700479187 --domain support
ex_5001831|FOLDER/ex_5001831_policy.npy|--radius 1.6860185857427767
END

# Kernels that lie in the ball: none returns less than what is found. model | kernel | options
while IFS='|' read -r model kernel options; do
    run verify "$folder/$model.npz" --policy optimal --kernel "$folder/$kernel.npz" --json --quiet
    expect_status 0
    known=$(sed -n 's/^  "return_low": \([^,]*\),$/\1/p' stdout.txt)
    # shellcheck disable=SC2086
    run evaluate "$folder/$model.npz" --policy optimal $options --json --quiet
    expect_status 0
    holds "robust_return <= $known + 1e-6 * penalty"
done <<'END'
m_garnet_0|p1_garnet_0|--norm 1 --radius 2
m_garnet_1|p1_garnet_1|--norm 1 --radius 4
m_machine_None|p1_machine_None|--norm 1 --radius 1
m_garnet_2|p2_garnet_2_b16|--radius 1.6 --domain support
END

# Millions of solves once.
run evaluate "$folder/g50.npz" --policy optimal --norm 1 --radius 20 --json --quiet
expect_status 0
awk -v solves="$(number solves)" 'BEGIN { exit !(solves < 100000) }' || complain "$(number solves) solves"
run optimize "$folder/m_garnet_0.npz" --norm 1 --radius 2 --out best.csv --json --quiet
expect_status 0
awk -v evaluations="$(number evaluations)" 'BEGIN { exit !(evaluations < 1000) }' ||
    complain "$(number evaluations) evaluations"

expect_failure 4 "past breakdown" evaluate "$folder/free_sa.npz" --policy uniform --set sa --norm 1 --domain free \
    --radius 0.14558130419512452
finish
