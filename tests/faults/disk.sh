# A disk that is full, a limit on the size of files, standard output that takes nothing, and what a killed process of
# the same number has left: exit status 6 or success, a word about the file, and whole files or none.
source "$(dirname "$0")/../support/cli.sh"
refused=0

# Runs the command and expects it to fail for want of space: the file that it names, then the arguments.
expect_no_space() {
    local file=$1
    shift
    run "$@"
    refused=$((refused + 1))
    expect_status 6
    expect_err "$file"
    [[ -z $(ls out) && ! -s left.txt ]] || complain "left behind: $(ls out) $(cat left.txt)"
}

mkdir out
: >left.txt
run generate garnet model.npz --states 300 --actions 3 --branch 5 --seed 1 --quiet
run generate riverswim river.npz --quiet
printf 'idstatefrom,idaction,idstateto,reward\n0,0,0,1\n0,0,1,1\n1,0,0,2\n1,0,1,2\n' >log.csv

# What has no room in 1 kB. gnuplot would not mind a picture that is cut off.
write_all() {
    for ending in csv npz tra drn MDP bin; do
        expect_no_space "out/m" convert model.npz "out/m.$ending" --quiet
    done
    expect_no_space out/p.csv solve model.npz --out out/p.csv --quiet
    expect_no_space out/p.npy solve model.npz --out out/p.npy --quiet
    expect_no_space out/g.csv gradient model.npz --policy uniform --radius 0.01 --domain free --out out/g.csv --quiet
    expect_no_space out/k.npz evaluate model.npz --policy uniform --radius 0.01 --kernel out/k.npz --certify off --quiet
    expect_no_space out/f.npz fit log.csv --discount 0.9 --out out/f.npz --samples 1000 --quiet
    if command -v gnuplot >/dev/null; then
        for ending in svg png; do
            expect_no_space "out/s.$ending" sweep river.npz --policy uniform --radius 0:0.1:5 --plot "out/s.$ending" --quiet
        done
    fi
}

# The limit holds for what bash itself writes, too, and for gnuplot's script: 1 kB is enough for these.
limited=$NADIR
NADIR=$PWD/limited
printf '#!/bin/bash\nulimit -f 1\nexec %q "$@"\n' "$limited" >"$NADIR"
chmod +x "$NADIR"
if [[ ${NADIR_SANITIZED:-0} == 0 ]]; then
    write_all
fi
NADIR=$limited

# A disk that is full, where one may be mounted: seen by the command alone.
full=$NADIR
NADIR=$PWD/small
for rights in "" --map-root-user; do
    cat >"$NADIR" <<END
#!/bin/bash
exec unshare --mount $rights bash -c 'mount -t tmpfs -o size=4k none out && head -c 4096 /dev/zero >out/ballast || exit 99
    "\$@"; status=\$?; rm out/ballast; ls out >left.txt; exit \$status' - $(printf %q "$full") "\$@"
END
    chmod +x "$NADIR"
    run --version
    if [[ $status == 0 ]]; then
        write_all
        mounted=1
        break
    fi
done
NADIR=$full

# Standard output that takes nothing.
for arguments in "--help" "--version" "info river.npz" "info river.npz --json" "convert river.npz x.csv" \
    "solve river.npz --out x.csv --json" "evaluate river.npz --policy uniform --radius 0.1 --json" \
    "sweep river.npz --policy uniform --radius 0:0.1:3" "generate riverswim x.npz" "evaluate --help"; do
    last="nadir $arguments >/dev/full"
    # shellcheck disable=SC2086 # several words
    "$NADIR" $arguments >/dev/full 2>stderr.txt </dev/null
    status=$?
    err=$(cat stderr.txt)
    : >stdout.txt
    refused=$((refused + 1))
    expect_status 6
    expect_err "standard output"
done

# Left by a killed process of the same number, as happens in containers, where numbers are few.
for option in --csv --plot; do
    [[ $option == --csv ]] || command -v gnuplot >/dev/null || continue
    last="nadir sweep $option beside a temporary file of the same process number"
    bash -c 'for attempt in "" -0 -1; do echo stale >"curve.svg.$$$attempt.tmp"; done
        exec "$NADIR" sweep river.npz --policy uniform --radius 0:0.1:3 '"$option"' curve.svg' >stdout.txt 2>stderr.txt
    status=$?
    expect_status 0
    [[ -s curve.svg ]] || complain "no file"
    rm -f curve.svg*
done
echo "$refused times no space, none lost${mounted:+, a full disk among them}"
finish
