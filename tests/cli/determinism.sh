# The same command with the same number of threads prints and writes the same, bit for bit; with other numbers of threads
# the same but for rounding.
source "$(dirname "$0")/../support/cli.sh"
if memcheck; then
    dense=12 sparse=16 radius=0.05
else
    dense=110 sparse=300 radius=0.05
fi
run generate random dense.npz --states "$dense" --seed 3
expect_status 0
run generate garnet sparse.npz --states "$sparse" --branch 5 --seed 3
expect_status 0
printf 'idstatefrom,idaction,idstateto,reward,count\n0,0,0,1,6\n0,0,1,3,2\n0,1,2,0,4\n1,0,1,2,10\n1,1,0,-1,1\n2,0,2,5,30\n' >log.csv

# Runs the command with some threads in a folder of its own: its output without the times, and the sums of its files.
answer_of() {
    local threads=$1
    shift
    rm -rf at && mkdir at
    last="nadir $* --threads $threads"
    (cd at && "$NADIR" "$@" --threads "$threads" --json --quiet </dev/null) >stdout.txt 2>stderr.txt
    status=$?
    expect_status 0 >&2
    sed -e '/"seconds": {/,/}/d' -e '/"seconds[a-z_]*":/d' stdout.txt
    (cd at && sha256sum -- * 2>/dev/null | grep -v witness)
    # a witness holds times and nothing else that changes
    for file in at/*witness*; do
        [[ ! -e $file ]] || grep -v seconds "$file" | sha256sum
    done
}

# A number of stdout.txt at the first level.
found() {
    sed -n "s/^  \"$1\": \([^,]*\),\{0,1\}\$/\1/p" stdout.txt | head -n 1
}

commands=0
compared=0
# Numbers of this run against those of the first one, which are in the array first: what is asked of proofs.
compare() {
    local threads=$1 key value
    for key in nominal_return robust_return lower_bound upper_bound nominal_optimum radius_lower radius_upper; do
        value=$(found "$key")
        [[ -n $value && $value != null ]] || continue
        first[$key]=${first[$key]:-$value}
        compared=$((compared + 1))
        awk -v a="${first[$key]}" -v b="$value" 'BEGIN { s = a < 0 ? 1 - a : 1 + a; d = (a - b) / s; exit d * d > 1e-14 }' ||
            complain "$key is ${first[$key]} with one thread, $value with $threads"
    done
}
check() {
    local threads
    declare -A first
    for threads in 1 2; do
        answer_of "$threads" "$@" >one.txt
        answer_of "$threads" "$@" >two.txt
        cmp -s one.txt two.txt || complain "not the same twice: $(diff one.txt two.txt | head -n 5)"
        commands=$((commands + 1))
        compare "$threads"
    done
    memcheck && return
    for threads in 3 4 8; do
        answer_of "$threads" "$@" >/dev/null
        compare "$threads"
    done
}

for domain in simplex support free; do
    check evaluate ../dense.npz --policy uniform --radius "$radius" --domain "$domain" --kernel worst.npz --witness witness.json
    check evaluate ../sparse.npz --policy uniform --radius 0.002 --domain "$domain" --set sa --norm 1
done
enough_for_memcheck
check evaluate ../sparse.npz --policy uniform --radius "$radius" --set s --norm 1.5 --backend krylov
check evaluate ../sparse.npz --policy optimal --radius 0.01 --norm 3 --backend klu
check optimize ../dense.npz --radius 0.02 --out policy.csv
check optimize ../sparse.npz --radius "$radius" --set sa --domain support --out policy.csv
check solve ../sparse.npz --out policy.csv
check sweep ../dense.npz --policy uniform --radius 0:0.1:5
check radius ../dense.npz --policy uniform --target -0.4
check gradient ../sparse.npz --policy uniform --radius 0.01 --out gradient.csv
check fit ../log.csv --out model.npz --samples 1000 --discount 0.9
echo "$commands commands twice, $compared numbers compared between numbers of threads"
finish
