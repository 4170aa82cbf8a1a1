# nadir convert: every format to every other that can hold the model, and back to the same numbers.
source "$(dirname "$0")/../support/cli.sh"

digest() {
    run info "$@" --json --quiet
    sed -n 's/^  "model_sha256": \(.*\),$/\1/p' stdout.txt
}

# How to read back what is not in the main file.
companions() {
    case $1 in
    *.tra) echo "--rewards ${1%.tra}.trew" ;;
    *.bin) echo "--rewards ${1%.bin}.g.bin" ;;
    esac
}

run generate garnet start.npz --states 50 --actions 3 --branch 4 --seed 3 --discount 0.95
expect_status 0
wanted=$(digest start.npz)
[[ -n $wanted ]] || complain "no digest"

endings=(csv npz tra drn MDP pomdp bin)
for from in "${endings[@]}"; do
    run convert start.npz "one.$from" --quiet
    expect_status 0
    expect_no_err
    # shellcheck disable=SC2046
    found=$(digest "one.$from" --discount 0.95 $(companions "one.$from"))
    [[ $found == "$wanted" ]] || complain "start.npz to .$from changed the model"
    memcheck && continue
    for to in "${endings[@]}"; do
        # shellcheck disable=SC2046
        run convert "one.$from" "two.$to" --quiet --discount 0.95 $(companions "one.$from")
        expect_status 0
        # shellcheck disable=SC2046
        found=$(digest "two.$to" --discount 0.95 $(companions "two.$to"))
        [[ $found == "$wanted" ]] || complain "one.$from to two.$to changed the model"
    done
done

# What is lost is said; what cannot be held is refused, and leaves no file.
run convert start.npz lossy.csv
expect_status 0
expect_err "without: the discount"
run generate inventory ragged.npz --capacity 4
expect_failure 2 "needs the same number of actions in every state" convert ragged.npz ragged.bin
[[ ! -e ragged.bin ]] || complain "ragged.bin was written"
expect_failure 2 "the ending does not tell the format" convert start.npz out.xyz
expect_failure 6 "cannot write the file" convert start.npz missing/out.npz
[[ -z $(ls ./*.tmp 2>/dev/null) ]] || complain "temporary files are left"

run convert start.npz small.npz --compress --json
expect_status 0
expect_json states 50
expect_json model_sha256 "$wanted"
(($(stat -c %s small.npz) < $(stat -c %s start.npz))) || complain "--compress did not make it smaller"
expect_failure 2 "small.csv is craam CSV, which has no use for --compress" convert start.npz small.csv --compress
[[ ! -e small.csv ]] || complain "small.csv was written"
finish
