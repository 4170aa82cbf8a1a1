# nadir reproduce: the norm table, random guessing, convergence against time.
source "$(dirname "$0")/../support/cli.sh"

run reproduce --help
for name in norm-table random-guess convergence; do
    expect_out "$name"
done

enough_for_memcheck # the rest takes minutes there; the sanitizers see it
command -v gnuplot >/dev/null || { echo "gnuplot is missing"; exit 77; }

# same FILE FILE: but for the columns of seconds.
same() {
    local untimed='NR == 1 { for (i = 1; i <= NF; i++) timed[i] = $i ~ /^seconds/ }
        { for (i = 1; i <= NF; i++) printf "%s,", timed[i] ? "" : $i; print "" }'
    cmp <(awk -F, "$untimed" "$1") <(awk -F, "$untimed" "$2") || complain "$1 and $2 differ"
}
pictures() {
    local stem
    for stem in "${@:2}"; do
        [[ -s $1/$stem.svg && -s $1/$stem.png ]] || complain "no picture $1/$stem"
    done
}

# Convergence: nobody is above the exact penalty, Algorithm 1 and nadir reach it, what was known when rises.
run reproduce convergence --quick --threads 1 --out out
expect_status 0
expect_no_err
pictures out/convergence convergence convergence-8
for size in convergence convergence-8; do
    awk -F, 'NR > 1 && ($5 > 1 + 1e-9 || ($2 == last && ($3 <= samples || $4 <= value || $6 < time))) { bad = 1 }
        { last = $2; samples = $3; value = $4; time = $6; end[$2] = $5 }
        END { exit bad || end["auto"] < 1 - 1e-9 || end["paper"] < 1 - 1e-8 || end["paper-reduced"] < 1 - 1e-8 ||
            !(end["random-kernel"] > 0) || end["random-kernel"] > end["random-rank-one"] }' \
        out/convergence/$size.csv || complain "$size.csv"
done
run reproduce convergence --quick --threads 1 --out again
expect_status 0
for csv in convergence convergence-8; do
    same out/convergence/$csv.csv again/convergence/$csv.csv
done

# The norm table: the paper's own numbers where its matrices are known, n = 300 (28.58 is 28.5858, cut), and the order of
# the methods everywhere.
run reproduce norm-table --quick --threads 2 --out out
expect_status 0
expect_no_err
pictures out/norm-table optimality optimality-share time
awk -F, 'function off(a, b) { return a < b - 5e-5 || a > b + 5e-5 }
    NR > 1 && ($2 >= $3 || $3 > $5 * (1 + 1e-12) || $4 > $5 * (1 + 1e-9) || $4 < $5 * (1 - 1e-5) || $5 > $6 ||
        $6 > $5 * (1 + 2e-6) || $6 > $7 || $7 > $8) { bad = 1 }
    $1 == 300 { bad = bad || off($3, 28.5858) || off($5, 29.7329); seen = 1 }
    END { exit bad || !seen || NR != 7 }' out/norm-table/norm-table.csv || complain "the norm table"
[[ $(grep -c "Attained Values and Time Taken" out/report.html) -gt 0 ]] || complain "the caption is not in the report"

# Random guessing: never above the maximum, slower the larger it is.
run reproduce random-guess --quick --threads 2 --out out
expect_status 0
expect_no_err
pictures out/random-guess random-vectors random-kernels
for csv in random-vectors random-kernels; do
    awk -F, 'NR > 1 && ($4 <= 0 || $4 > 1) { bad = 1 } NR > 2 && $1 != size && $4 > share { bad = 1 }
        { size = $1; share = $4 } END { exit bad || NR < 10 }' out/random-guess/$csv.csv || complain "$csv.csv"
done
finish
