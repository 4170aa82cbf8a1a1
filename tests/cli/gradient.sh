# nadir gradient: the file against differences of nadir evaluate, both formulas, norms and promise, usage.
source "$(dirname "$0")/../support/cli.sh"

generate_frozen riverswim river.npz

# The probability of action 1 in state 2 goes up and down by 1e-4: the difference of the worst returns.
write_policy() {
    printf 'idstate,idaction,probability\n'
    for ((s = 0; s < 6; s++)); do
        if [[ $s == 2 ]]; then
            printf '2,0,%s\n2,1,%s\n' "$1" "$2"
        else
            printf '%d,0,0.5\n%d,1,0.5\n' $s $s
        fi
    done
}
write_policy 0.4999 0.5001 >more.csv
write_policy 0.5001 0.4999 >less.csv
worst_return() {
    run evaluate river.npz --policy "$1" --radius 0.02 --domain "$2" --tolerance 1e-14 --certify off --json
    expect_status 0
    sed -n 's/^  "robust_return": \(.*\),$/\1/p' stdout.txt
}
for domain in simplex support free; do
    more=$(worst_return more.csv $domain)
    less=$(worst_return less.csv $domain)
    run gradient river.npz --policy uniform --radius 0.02 --domain $domain --out $domain.csv --json
    expect_status 0
    expect_no_err
    expect_json out "\"$domain.csv\""
    expect_json formula '"kernel"'
    expect_json domain "\"$domain\""
    [[ $(head -n 1 $domain.csv) == idstate,idaction,gradient ]] || complain "the header of $domain.csv"
    [[ $(wc -l <$domain.csv) == 13 ]] || complain "the lines of $domain.csv"
    awk -F, -v more="$more" -v less="$less" '
        $1 == 2 { gradient += ($2 == 1 ? 1 : -1) * $3 }
        END { difference = (more - less) / 2e-4; error = gradient - difference
              exit !(error < 1e-6 * difference && -error < 1e-6 * difference) }' $domain.csv ||
        complain "the gradient is not ($more - $less) / 2e-4"
    awk -F, -v norm="$(number gradient_norm)" -v tangent="$(number tangent_norm)" -v promise="$(number promise)" '
        NR > 1 { g[$1, $2] = $3; squares += $3 * $3 }
        END { for (s = 0; s < 6; s++) { half = (g[s, 1] - g[s, 0]) / 2
                  turned += 2 * half * half; gain += half < 0 ? -half : half }
              error = (sqrt(squares) - norm)^2 + (sqrt(turned) - tangent)^2 + (gain - promise)^2
              exit !(error < 1e-18 * squares) }' $domain.csv || complain "the norms or the promise of $domain.csv"
done
for key in model policy nominal_return robust_return lower_bound upper_bound certified set norm radius method stop_reason \
    iterations backend optimistic states rows model_sha256 policy_sha256 seconds warnings; do
    expect_out "\"$key\": "
done

# In nominal terms: the same numbers, on the free domain alone.
run gradient river.npz --policy uniform --radius 0.02 --domain free --formula nominal --out nominal.csv
expect_status 0
expect_out "Gradient     of the worst case, "
expect_out "written to nominal.csv"
paste -d, free.csv nominal.csv | awk -F, '
    NR > 1 && ($3 - $6)^2 > 1e-18 * $3^2 { exit 1 }' ||
    complain "the two formulas differ"
run gradient river.npz --policy uniform --radius 0.02 --formula nominal --out no.csv
expect_status 2
expect_err "not of the form Phat - b k^T"
[[ ! -e no.csv ]] || complain "a file was written"

enough_for_memcheck

# As an array; with the kernel and its witness; the best case.
run gradient river.npz --policy uniform --radius 0.02 --domain support --optimistic --out gradient.npy \
    --kernel kernel.npz --witness witness.json --verbose
expect_status 0
expect_out "Gradient     of the best case, "
expect_out "  promise "
[[ $(head -c 6 gradient.npy | tail -c 5) == NUMPY ]] || complain "gradient.npy is no array"
grep -aq "'shape': (6, 2)" gradient.npy || complain "the shape of gradient.npy"
run verify river.npz --policy uniform --kernel kernel.npz --witness witness.json
expect_status 0

# Usage.
expect_failure 2 "--policy FILE|uniform|optimal is needed" gradient river.npz --radius 0.1 --out g.csv
# Without a file: the largest entries.
run gradient river.npz --policy uniform --radius 0.1
expect_status 0
expect_out "actions to take more often"
expect_out ", right"
expect_failure 2 "--formula: 'paper' given, expected kernel|nominal" gradient river.npz --policy uniform --formula paper
expect_failure 2 "river.npz is read, and would be written over" gradient river.npz --policy uniform --radius 0.1 --out river.npz
expect_failure 2 "would be written twice" gradient river.npz --policy uniform --radius 0.1 --out g.npz --kernel g.npz
expect_failure 4 "breakdown" gradient river.npz --policy uniform --radius 5 --domain free --out g.csv
expect_failure 6 "missing/g.csv" gradient river.npz --policy uniform --radius 0.1 --out missing/g.csv
finish
