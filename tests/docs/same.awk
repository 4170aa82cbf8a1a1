# Compares two texts, word by word: awk -f same.awk EXPECTED ACTUAL. Exit status 1, and the first difference on stderr,
# when they differ. See tests/docs/run for what is the same.

function is_number(word) {
    return word ~ /^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?$/
}
function absolute(x) {
    return x < 0 ? -x : x
}
# A word may carry punctuation: "(density", "0.306)", "1.5,".
function bare(word) {
    gsub(/^[(\[{"]+|[)\]}",;:%]+$/, "", word)
    return word
}
# Rows of CSV files are compared cell by cell.
function same_cells(a, b, loose,    n, p, q, i) {
    n = split(a, p, ",")
    if (n < 2 || split(b, q, ",") != n) return 0
    for (i = 1; i <= n; i++) {
        if (!same_word(p[i], q[i], loose)) return 0
    }
    return 1
}
function same_word(a, b, loose,    x, y) {
    if (a == b || same_cells(a, b, loose)) return 1
    x = bare(a)
    y = bare(b)
    if (!is_number(x) || !is_number(y)) return 0
    if (loose) return 1
    return absolute(x - y) <= 1e-6 * (absolute(x) > absolute(y) ? absolute(x) : absolute(y)) + 1e-7
}
function same_line(a, b,    loose, n, m, i, p, q) {
    loose = a ~ /second|iteration|solve|evaluation|memory|gap/
    n = split(a, p, " ")
    m = split(b, q, " ")
    if (n != m) return 0
    for (i = 1; i <= n; i++) {
        if (!same_word(p[i], q[i], loose)) return 0
    }
    return 1
}
FNR == NR { expected[++wanted] = $0; next }
{ actual[++found] = $0 }
END {
    j = 1
    for (i = 1; i <= wanted; i++) {
        if (expected[i] ~ /^ *\.\.\.$/) {
            if (i == wanted) { j = found + 1; break }
            while (j <= found && !same_line(expected[i + 1], actual[j])) j++
            continue
        }
        if (j > found || !same_line(expected[i], actual[j])) {
            print "expected: " expected[i] > "/dev/stderr"
            print "found:    " (j > found ? "(the end)" : actual[j]) > "/dev/stderr"
            exit 1
        }
        j++
    }
    if (j <= found) {
        print "not expected: " actual[j] > "/dev/stderr"
        exit 1
    }
}
