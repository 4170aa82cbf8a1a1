# cli.sh: what the tests of the command share. Source it; then: run, and ask about $status, $out, $err.

failures=0
ordinary=() # what to put before the command, so that files can be forbidden to it; see forbid

# Runs the command; its exit status, stdout and stderr are then in $status, $out, $err.
run() {
    last="nadir $*"
    "${ordinary[@]}" "$NADIR" "$@" >stdout.txt 2>stderr.txt </dev/null
    status=$?
    out=$(cat stdout.txt)
    err=$(cat stderr.txt)
}

# generate_frozen KIND FILE ...: an instance whose rewards are those of rows, as numbers of the paper's reading are made.
generate_frozen() {
    local kind=$1 file=$2
    shift 2
    run generate "$kind" landing.npz "$@" --quiet
    run convert landing.npz "$file" --frozen-rewards --quiet
    rm -f landing.npz
}

# From now on the command obeys the permissions of files, even if root runs it. False where that cannot be had.
forbid() {
    if [[ $(id -u) == 0 ]]; then
        local rights=-dac_override,-dac_read_search
        ordinary=(setpriv "--inh-caps=$rights" "--bounding-set=$rights")
        "${ordinary[@]}" true 2>/dev/null || ordinary=()
        ((${#ordinary[@]}))
    fi
}

# Whether the command runs under memcheck, where it takes seconds; if so, what follows in the script is left out.
memcheck() {
    [[ ${NADIR_VALGRIND:-0} == 1 ]]
}
enough_for_memcheck() {
    ! memcheck || finish
}

complain() {
    echo "FAILED: $last"
    echo "  $1"
    echo "  exit $status"
    sed 's/^/  stdout: /' stdout.txt
    sed 's/^/  stderr: /' stderr.txt
    failures=$((failures + 1))
}

expect_status() {
    [[ $status == "$1" ]] || complain "expected exit $1"
}

# A part of stdout, of stderr.
expect_out() {
    [[ $out == *"$1"* ]] || complain "expected on stdout: $1"
}
expect_err() {
    [[ $err == *"$1"* ]] || complain "expected on stderr: $1"
}
expect_no_err() {
    [[ -z $err ]] || complain "expected nothing on stderr"
}

# stdout is one JSON object with this key and this value, both as JSON text.
expect_json() {
    local found
    found=$(LC_ALL=C sed -n "s/^  \"$1\": \(.*[^,]\),\{0,1\}\$/\1/p" stdout.txt)
    [[ $found == "$2" ]] || complain "expected \"$1\": $2, found: $found"
}

# stdout has this key, at any depth, with this number to 12 digits.
number() {
    printf '%.12g' "$(sed -n "s/^ *\"$1\": \([^,]*\),\{0,1\}\$/\1/p" stdout.txt | head -n 1)"
}
expect_number() {
    [[ $(number "$1") == "$2" ]] || complain "expected \"$1\": $2, found $(number "$1")"
}

# Runs the command and expects it to fail: exit status, a part of stderr, then the arguments.
expect_failure() {
    local code=$1 words=$2
    shift 2
    run "$@"
    expect_status "$code"
    expect_err "$words"
}

finish() {
    if ((failures > 0)); then
        echo "$failures failed"
        exit 1
    fi
    exit 0
}
