# nadir reproduce: the experiments on sets of kernels and policies, on integer programs and on symbols: what their data must show,
# and the same data on any number of threads.
source "$(dirname "$0")/../support/cli.sh"

command -v gnuplot >/dev/null || { echo "gnuplot is missing"; exit 77; }

# The smallest of all: data, pictures, list and report.
run reproduce hardness --quick --threads 2 --out two
expect_status 0
expect_no_err
for file in hardness/reduction.csv hardness/ladder.svg hardness/ladder.png hardness/SHA256SUMS report.html; do
    [[ -s two/$file ]] || complain "no $file"
done

enough_for_memcheck # the others are too slow there; unit/experiments has what they compute

for name in geometry volumes rectangular-sets notation; do
    run reproduce "$name" --quick --threads 2 --out two
    expect_status 0
    expect_no_err
done
for name in volumes rectangular-sets hardness notation; do
    run reproduce "$name" --quick --threads 1 --out one
    expect_status 0
done
# All but times.
for csv in one/*/*.csv; do
    [[ $csv == */large.csv ]] || cmp "$csv" "two/${csv#one/}" || complain "threads change $csv"
done
for svg in two/*/*.svg; do
    [[ -s $svg && -s ${svg%.svg}.png ]] || complain "$svg is empty, or without a PNG"
    (($(stat -c %s "$svg") < 1000000)) || complain "$svg is too large for the report"
    grep -qE '<text>[A-Z][^<]{15,}' "$svg" || complain "$svg has no title" # labels of axes begin with a small letter
done

# every FILE CONDITION: awk's condition holds in every row.
every() { awk -F, "NR > 1 && !($2) { exit 1 }" "$1" || complain "$1: not in every row: $2"; }

every two/hardness/reduction.csv '$6 == $9'
every two/hardness/one-constraint.csv '$4 == $5 && $7 == $8'
every two/hardness/large.csv '($3 - $4) ^ 2 < 1e-4'
# Seven components are more than rounding; midpoints lie outside unless one state differs.
every two/geometry/components.csv '(NR <= 8) == ($3 > 1e-10)'
every two/geometry/midpoints.csv '($1 == 1) == ($3 == 0)'
# The closed forms are right.
every two/notation/formulas.csv '$4 < 1e-14 && $5 < 1e-14'
# The estimates are within five standard errors.
every two/volumes/monte-carlo.csv '($8 - $5) ^ 2 < 25 * $9 ^ 2'
# What contains the ball costs more, what it contains less.
awk -F, 'NR > 1 && $4 == "ball" { ball = $7 }
    NR > 1 && (($4 == "around" && $7 < ball * (1 - 1e-9)) || ($4 == "inside" && $7 > ball * (1 + 1e-9))) { exit 1 }' \
    two/rectangular-sets/radii.csv || complain "the order of the sets"
finish
