# nadir reproduce: files, report, the same data for the same seed, what is kept and what is made again, interruption.
source "$(dirname "$0")/../support/cli.sh"

expect_failure 2 "--out DIR is needed" reproduce all
expect_failure 2 "all|NAME" reproduce --out out
expect_failure 2 "there is no experiment 'nothing'" reproduce nothing --out out
[[ ! -e out ]] || complain "a folder was made"
touch file
expect_failure 6 "file: cannot make the folder" reproduce all --out file
expect_failure 6 "cannot make the folder" reproduce all --out missing/out
run reproduce --help
expect_status 0
for name in penalty penalty-function geometry volumes rectangular-sets hardness negative-entries notation; do
    expect_out "$name"
done

enough_for_memcheck # the rest takes a minute there; the sanitizers see it

command -v gnuplot >/dev/null || { echo "gnuplot is missing"; exit 77; }
last="nadir reproduce penalty-function, without gnuplot"
PATH=/nowhere "$NADIR" reproduce penalty-function --quick --out no-gnuplot >stdout.txt 2>stderr.txt
status=$?
err=$(cat stderr.txt)
expect_status 6
expect_err "pictures need gnuplot, which is not there: install it"
[[ ! -e no-gnuplot ]] || complain "a folder was left"

# Files, list and report.
run reproduce penalty-function --quick --threads 1 --out out --json
expect_status 0
expect_no_err
expect_json seed 42
expect_json quick true
expect_json report '"out/report.html"'
expect_out '"state": "made"'
(cd out/penalty-function && sha256sum --check --strict --quiet SHA256SUMS) || complain "the list is wrong"
listed=$(grep -vc '^#' out/penalty-function/SHA256SUMS)
there=$(find out/penalty-function -type f ! -name SHA256SUMS | wc -l)
[[ $listed == "$there" ]] || complain "$there files, $listed in the list"
for stem in penalty-function-beta-1-over-S penalty-function-beta-0.1; do
    for ending in csv svg png; do
        [[ -s out/penalty-function/$stem.$ending ]] || complain "no $stem.$ending"
    done
done
report=$(cat out/report.html)
for words in "Robust Penalty Function F(λ) vs λ for S = 100, a = 10, β = 1/S" "prefers-color-scheme:dark" "<svg" \
    "seed 42" "The free set's invalid kernels (not made yet)" "We measure" "</html>"; do
    [[ $report == *"$words"* ]] || complain "not in the report: $words"
done
# One page that needs nothing else: no scripts, nothing loaded, every name of an element once.
grep -nE '<script|<img|@import|src=|<link rel="stylesheet' out/report.html && complain "the report is not self-contained"
[[ -z $(grep -oE '\bid="[^"]*"' out/report.html | sort | uniq -d) ]] || complain "the same id twice"
# The list of the paper's 20 figures and 3 tables, and each of them in the documentation too, by number and caption.
page=$(dirname "$0")/../../docs/reproduction.md
sed -nE 's/^<li>(<a [^>]*>)?((Figure|Table) [0-9]+),[^:]*: <q>(.*)<\/q>.*/| \2 | \4 |/p' out/report.html >list.txt
[[ $(sort -u list.txt | wc -l) == 23 ]] || complain "the list of the paper's figures: $(cat list.txt)"
while read -r entry; do
    grep -qF "$entry" "$page" || complain "not in docs/reproduction.md: $entry"
done <list.txt
# Links lead somewhere; the findings stand beside the page.
for target in $(grep -oE 'href="#[^"]*"' out/report.html | sed 's/href="#//; s/"//' | sort -u); do
    grep -q "id=[\"']$target[\"']" out/report.html || complain "no element $target"
done
[[ $(grep -c '^| `penalty-function`: .* | .* | .* | .* |$' out/findings.md) == 2 ]] || complain "$(cat out/findings.md)"
# F(λ) > λ up to the fixed point, which is the 25th point of the first grid.
awk -F, 'NR > 1 && NR != 26 && $1 == "near" { if (($3 > $2) != (NR < 26)) bad = 1 } END { exit bad }' \
    out/penalty-function/penalty-function-beta-0.1.csv || complain "F - λ has its sign elsewhere"
# All searches end at the penalty that the library finds.
for csv in out/penalty-function/*-steps.csv; do
    awk -F, 'NR > 1 { last[$1] = $5 } END { for (s in last) { n++; if (last[s] > 1e-12) exit 1 } exit n != 3 }' \
        "$csv" || complain "$csv: a search does not end at the penalty"
done

# Kept, to the byte and to the second.
before=$(stat -c %y out/penalty-function/*)
run reproduce penalty-function --quick --threads 1 --out out
expect_status 0
expect_out "kept"
[[ $before == "$(stat -c %y out/penalty-function/*)" ]] || complain "files were written again"
last="nadir reproduce penalty-function, kept, without gnuplot"
PATH=/nowhere "$NADIR" reproduce penalty-function --quick --threads 1 --out out >stdout.txt 2>stderr.txt
status=$?
expect_status 0

# The same seed, the same data; another seed, other data. Other settings, or a file that was changed: made again.
cp -r out/penalty-function first
echo >>out/penalty-function/penalty-function-beta-0.1.csv
run reproduce penalty-function --quick --threads 1 --out out
expect_status 0
expect_out "made in"
for csv in first/*.csv; do
    cmp "$csv" "out/penalty-function/$(basename "$csv")" || complain "the same seed gave other data"
done
run reproduce penalty-function --quick --threads 1 --seed 7 --out out
expect_out "made in"
cmp -s first/penalty-function-beta-0.1.csv out/penalty-function/penalty-function-beta-0.1.csv &&
    complain "another seed gave the same data"

# Interrupted: exit 7, no list, a report on what there is; the same command goes on.
last="nadir reproduce negative-entries, interrupted"
"$NADIR" reproduce negative-entries --threads 1 --out out >stdout.txt 2>stderr.txt </dev/null &
process=$!
for ((i = 0; i < 100; i++)); do
    compgen -G 'out/negative-entries/*.tmp' >/dev/null && break
    sleep 0.05
done
kill -TERM "$process"
wait "$process"
status=$?
out=$(cat stdout.txt)
err=$(cat stderr.txt)
expect_status 7
expect_err "the same command goes on from there"
expect_out "interrupted"
[[ -z $(ls out/negative-entries) ]] || complain "left: $(ls out/negative-entries)"
grep -q "The penalty function F(λ)</h2>" out/report.html || complain "the report lost what was finished"
# Ctrl-C reaches gnuplot too, which may not turn it into a failure.
for pause in 0.1 0.2 0.3; do
    last="nadir reproduce hardness, Ctrl-C after $pause s"
    setsid "$NADIR" reproduce hardness --quick --threads 1 --out keys >stdout.txt 2>stderr.txt </dev/null &
    process=$!
    sleep "$pause"
    kill -INT -- "-$process" 2>/dev/null
    wait "$process"
    status=$?
    [[ $status == 7 || $status == 0 ]] || complain "expected exit 7, or 0 if it was done"
    rm -rf keys
done
# Killed: what it left half written goes when the experiment is made again; what a living process writes stays.
touch out/negative-entries/negative-entries.csv.999999999-0.tmp "out/negative-entries/other.csv.$$-0.tmp" \
    out/report.html.999999999-0.tmp
run reproduce negative-entries --quick --threads 1 --out out
expect_status 0
[[ $(cd out && echo *.tmp */*.tmp) == "*.tmp negative-entries/other.csv.$$-0.tmp" ]] || complain "left: $(ls out out/*)"
rm "out/negative-entries/other.csv.$$-0.tmp"
# Negative entries exactly where the smallest is; valid kernels do no more harm; and one row as nadir evaluate has it.
awk -F, 'NR > 1 && (($6 > 0) != ($7 < 0) || $6 > 1 || $10 > $8 * (1 + 1e-9)) { exit 1 }' \
    out/negative-entries/negative-entries.csv || complain "the data contradicts itself"
row=$(grep '^64,8,42,0.1,0,' out/negative-entries/negative-entries.csv)
run generate garnet sparse.npz --states 64 --actions 8 --branch 5 --discount 0.9 --seed 42
run evaluate sparse.npz --policy uniform --radius 0.1 --domain free --json
expect_number kernel_min "$(printf '%.12g' "$(cut -d, -f7 <<<"$row")")"
expect_number penalty "$(printf '%.12g' "$(cut -d, -f8 <<<"$row")")"
run evaluate sparse.npz --policy uniform --radius 0.1 --json
expect_number penalty "$(printf '%.12g' "$(cut -d, -f10 <<<"$row")")"
grep -q "The free set's invalid kernels</h2>" out/report.html || complain "the report lacks the new section"
grep -q "The penalty function F(λ)</h2>" out/report.html || complain "the report lost what was finished"
finish
