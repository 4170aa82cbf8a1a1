# Models of other projects, where a folder of them is at hand: sizes counted by hand, and every conversion that the
# formats allow, read back to the same digest.
source "$(dirname "$0")/../support/cli.sh"
folder=${NADIR_FOREIGN_MODELS:-}
[[ -d $folder ]] || exit 77
memcheck && exit 77 # minutes, and nothing that smaller models do not show

# file | options | states | rows | nonzeros | endings that can hold it
models="
machine_replacement.csv|--discount 0.9|10|20|45|csv npz tra drn MDP pomdp bin
riverswim.csv|--discount 0.95|6|12|22|csv npz tra drn MDP pomdp bin
corner.MDP||4|16|20|csv npz tra drn MDP pomdp bin
Hallway.pomdp||60|300|2039|npz MDP pomdp
two_dice.drn|--discount 0.9|169|254|436|npz tra drn
two_dice.tra|--discount 0.9 --rewards @/two_dice.flip.trans.rew --labels @/two_dice.lab|169|254|436|npz tra drn
pendulum_121_5.P.bin|--discount 0.95 --costs --rewards @/pendulum_121_5.g.bin|121|605|2144|csv npz tra drn MDP pomdp bin
"
digest() {
    run info "$@" --json --quiet
    sed -n 's/^  "model_sha256": \(.*\),$/\1/p' stdout.txt
}
discount_of() {
    run info "$@" --json --quiet
    sed -n 's/^  "discount": \(.*\),$/\1/p' stdout.txt
}

checked=0
while IFS='|' read -r file options states rows nonzeros endings; do
    [[ -f $folder/$file ]] || continue
    options=${options//@/$folder}
    # shellcheck disable=SC2086
    run info "$folder/$file" $options --json --quiet
    expect_status 0
    expect_json states "$states"
    expect_json rows "$rows"
    expect_json nonzeros "$nonzeros"
    # shellcheck disable=SC2086
    wanted=$(digest "$folder/$file" $options)
    # shellcheck disable=SC2086
    gamma=$(discount_of "$folder/$file" $options)
    for ending in $endings; do
        back="--discount $gamma"
        case $ending in
        tra)
            back+=" --rewards copy.trew"
            [[ $file == two_dice* ]] && back+=" --labels copy.lab"
            ;;
        bin) back+=" --rewards copy.g.bin" ;;
        esac
        # shellcheck disable=SC2086
        run convert "$folder/$file" "copy.$ending" $options --quiet
        expect_status 0
        # shellcheck disable=SC2086
        found=$(digest "copy.$ending" $back)
        expected=$wanted
        case $ending in
        drn | bin) # have rewards of rows alone
            # shellcheck disable=SC2086
            expected=$(digest "$folder/$file" $options --frozen-rewards)
            ;;
        esac
        [[ -n $wanted && $found == "$expected" ]] || complain "$file to .$ending changed the model"
        rm -f copy.*
        checked=$((checked + 1))
    done
done <<<"$models"

if [[ -f $folder/outcomes_oneaction.csv ]]; then
    expect_failure 3 "nadir fit" info "$folder/outcomes_oneaction.csv"
fi

# Returns of the uniform policy and optima, known from elsewhere.
while read -r file options uniform optimum; do
    [[ -f $folder/$file ]] || continue
    options=${options//,/ }
    options=${options//FOLDER/$folder}
    # shellcheck disable=SC2086
    run evaluate "$folder/$file" $options --policy uniform --radius 0 --json --quiet
    expect_number nominal_return "$uniform"
    # shellcheck disable=SC2086
    run solve "$folder/$file" $options --out best.npy --json --quiet
    expect_number nominal_optimum "$optimum"
    checked=$((checked + 1))
done <<'END'
riverswim.csv --discount,0.95 536.031320562 10577.7677937
machine_replacement.csv --discount,0.9 -27.7660212278 -9.66788312962
pendulum_121_5.P.bin --rewards,FOLDER/pendulum_121_5.g.bin,--costs,--discount,0.95 -1833.52617959 -1688.52800772
END
((checked > 0)) || exit 77
finish
