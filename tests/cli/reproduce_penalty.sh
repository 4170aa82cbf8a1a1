# nadir reproduce penalty: the penalty that each method finds against the number of states.
source "$(dirname "$0")/../support/cli.sh"

enough_for_memcheck # too slow there; unit/penalty_experiment has what it computes
command -v gnuplot >/dev/null || { echo "gnuplot is missing"; exit 77; }

run reproduce penalty --quick --threads 1 --out out
expect_status 0
expect_no_err
for stem in penalty-0.01 penalty-0.1 penalty-0.02 penalty-0.005 share-0.01; do
    [[ -s out/penalty/$stem.svg && -s out/penalty/$stem.png ]] || complain "no picture $stem"
done
# Four radii, four sizes, three seeds, five methods; nobody finds more than there is, and Algorithm 1 finds it all.
awk -F, 'NR > 1 && ($6 > $5 * (1 + 1e-9) || $6 < 0 || ($4 == "paper" && $6 < $5 * (1 - 1e-8)) ||
        ($7 - $6 / $5) ^ 2 > 1e-24) { bad = 1 }
    NR > 1 { count[$4]++ }
    END { for (method in count) { n++; bad = bad || count[method] != 48 } exit bad || n != 5 }' \
    out/penalty/penalties.csv || complain "penalties.csv"
# The data of a picture is the mean, the least and the most over the seeds.
awk -F, 'NR == FNR { if ($1 == "0.01") { sum[$2, $4] += $6; exact[$2, $4] += $5; n[$2, $4]++ } next }
    FNR > 1 { m = n[$1, $2]; if (m != 3 || ($6 - sum[$1, $2] / m) ^ 2 > 1e-24 || ($3 - exact[$1, $2] / m) ^ 2 > 1e-24 ||
        $7 > $6 || $6 > $8 || $10 > $9 || $9 > $11) bad = 1; rows++ }
    END { exit bad || rows != 20 }' out/penalty/penalties.csv out/penalty/penalty-0.01.csv || complain "penalty-0.01.csv"
# All methods are held against the same exact value.
awk -F, 'NR > 1 { key = $1 "," $2 "," $3; if (key in exact && exact[key] != $5) exit 1; exact[key] = $5 }' \
    out/penalty/penalties.csv || complain "the exact penalty depends on the method"
for caption in "Performance of Robust Policy Evaluation methods with equal amount of time, with fixed action space A=8" \
    "Performance of Robust Policy Evaluation methods with equal amount of time." "β=0.1, A=8" "β=0.02, A=8" \
    "β=0.005, A=8"; do
    grep -qF "$caption" out/report.html || complain "not in the report: $caption"
done
finish
