# Models at the edges of what numbers can say, through files and every command: an answer (exit 0, or 5 with the best so far) or
# a refusal that says why; never a NaN in what is printed, never a crash, never for ever.
source "$(dirname "$0")/../support/cli.sh"

# A model of three states with rewards times a number; the rest is what its name says.
head='idstatefrom,idaction,idstateto,probability,reward'
make() {
    local name=$1 unit=$2
    printf '%s\n' "$head" "0,0,1,0.5,1$unit" "0,0,2,0.5,1$unit" "0,1,0,1,0" "1,0,0,1,-2$unit" "1,1,2,1,3$unit" \
        "2,0,2,1,0.5$unit" >"$name.csv"
}
make plain e0
make huge e300
make tiny e-300
make denormal e-323
make mixed e150 && sed -i 's/0.5e150/5e-150/' mixed.csv
printf '%s\n' "$head" "0,0,0,1,-1" "0,1,0,1,2" >alone.csv
printf '%s\n' "$head" "0,0,1,1,1" "1,0,0,1,2" "2,0,2,1,-1" >single.csv
printf '%s\n' "$head" "0,0,0,0.9999999999999998,1" "0,0,1,2.220446049250313e-16,1" "1,0,1,1,-1" >corners.csv
printf '%s\n' "$head" "0,0,0,1,1" "0,0,1,4.9e-324,1" "1,0,0,1e-310,0" "1,0,1,1,0" >denormals.csv

answers=0
refusals=0
ask() {
    last="nadir $*"
    rm -f out.*
    timeout 120 "$NADIR" "$@" --json --quiet >stdout.txt 2>stderr.txt </dev/null
    status=$?
    out=$(cat stdout.txt)
    err=$(cat stderr.txt)
    case $status in
    0 | 5) answers=$((answers + 1)) ;;
    2 | 4)
        refusals=$((refusals + 1))
        [[ -n $err ]] || complain "no reason is given"
        ;;
    *) complain "expected exit 0, 2, 4 or 5" ;;
    esac
    ! grep -qiE '(:|,|\[) *-?(nan|inf|infinity) *(,|\]|\}|$)' stdout.txt || complain "that is no JSON"
    ! grep -qi 'nan' out.csv 2>/dev/null || complain "a file has a NaN in it"
}

models=(plain huge tiny denormal mixed alone single corners denormals)
discounts=(0.9 0.99999 0.999999999 0)
! memcheck || { models=(huge corners) && discounts=(0.99999); }
RANDOM=7
pick() {
    local -n list=$1
    echo "${list[RANDOM % ${#list[@]}]}"
}
domains=(simplex support free)
sets=(nonrect s sa)
norms=(1 2 inf 1.000001 1e6 1.5)
radii=(0 1e-300 1e-9 0.05 0.4 3 1e50)
questions=("evaluate --policy uniform" "evaluate --policy optimal --certify strict" "optimize --out out.csv --max-evaluations 10"
    "gradient --policy uniform --out out.csv" "evaluate --policy uniform --optimistic --kernel out.npz --witness out.json")
for model in "${models[@]}"; do
    for gamma in "${discounts[@]}"; do
        ask solve "$model.csv" --discount "$gamma" --out out.csv
        for question in "${questions[@]}"; do
            read -r -a words <<<"$question"
            ask "${words[0]}" "$model.csv" "${words[@]:1}" --discount "$gamma" --radius "$(pick radii)" --norm "$(pick norms)" \
                --set "$(pick sets)" --domain "$(pick domains)"
        done
        ask sweep "$model.csv" --policy uniform --discount "$gamma" --radius 0:0.5:3 --norm "$(pick norms)" --domain "$(pick domains)"
        ask radius "$model.csv" --policy uniform --discount "$gamma" --target -1 --domain "$(pick domains)"
    done
done
echo "$answers answers, $refusals refusals"
finish
