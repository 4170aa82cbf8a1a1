#!/usr/bin/env bash
# nadir reproduce with --engine cuda: made, then kept; the processor's is another one. Skipped, saying so, where there is
# no device.
set -u

# shellcheck source=tests/cuda/device.sh
. "$(dirname "$0")/device.sh"
command -v gnuplot >/dev/null || {
    echo "skipped: gnuplot is missing"
    exit 77
}

failures=0
expect() { # STATE ENGINE
    "$NADIR" reproduce geometry --quick --threads 2 --out out --engine "$2" --json --quiet >said.json 2>said.txt ||
        { echo "FAILED: exit $?: $(cat said.txt)" >&2 && failures=$((failures + 1)); }
    if ! grep -q "\"state\": \"$1\"" said.json; then
        echo "FAILED: not $1 with the engine $2: $(grep '"state"' said.json)" >&2
        failures=$((failures + 1))
    fi
}

expect made cuda
expect kept cuda
grep -q 'engine cuda' out/geometry/SHA256SUMS || {
    echo "FAILED: the list names no engine" >&2
    failures=$((failures + 1))
}
expect made none
exit $((failures > 0))
