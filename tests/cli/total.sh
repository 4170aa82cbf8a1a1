# Without a discount: total reward, reachability and durations, nominal and worst, against closed forms and numbers
# of an independent program; what is refused.
source "$(dirname "$0")/../support/cli.sh"

# Gambler's ruin on 0 .. n, and the lake of Gymnasium's FrozenLake, slippery.
ruin() {
    echo idstatefrom,idaction,idstateto,probability,reward
    for ((s = 0; s <= $1; s++)); do
        if ((s == 0 || s == $1)); then
            echo "$s,0,$s,1,0"
        else
            printf '%s\n' "$s,0,$((s - 1)),0.5,${2:-0}" "$s,0,$((s + 1)),0.5,${2:-0}"
        fi
    done
}
lake() {
    awk -v map="$1" -v n="$2" 'function clip(x) { return x < 0 ? 0 : x >= n ? n - 1 : x }
        BEGIN {
            print "idstatefrom,idaction,idstateto,probability,reward"
            split("0 1 0 -1", down, " "); split("-1 0 1 0", right, " ")
            for (s = 0; s < n * n; s++) for (a = 0; a < 4; a++) {
                if (index("GH", substr(map, s + 1, 1))) { print s "," a "," s ",1,0"; continue }
                for (b = a + 3; b < a + 6; b++) {
                    t = clip(int(s / n) + down[b % 4 + 1]) * n + clip(s % n + right[b % 4 + 1])
                    printf "%d,%d,%d,%.17g,0\n", s, a, t, 1 / 3
                }
            }
        }'
}
# close KEY NUMBER: to a relative error of 1e-9.
close() {
    awk -v a="$(number "$1")" -v b="$2" 'BEGIN { exit !(a != "" && (a - b) ^ 2 <= 1e-18 * b ^ 2) }' ||
        complain "expected \"$1\": $2, found $(number "$1")"
}
for n in 2 3 5 10; do ruin $n >ruin$n.csv; done
ruin 5 1 >steps5.csv
lake SFFFFHFHFFFHHFFG 4 >lake.csv
lake SFFFFFFFFFFFFFFFFFFHFFFFFFFFFHFFFFFHFFFFFHHFFFHFFHFFHFHFFFFHFFFG 8 >lake8.csv
# The best policy for the large lake: of equally good actions one, by policy iteration from the uniform policy.
awk -v best=3333333233333332000023320001002203002132000130020010000201001210 'BEGIN {
    print "idstate,idaction,probability"
    for (s = 0; s < 64; s++) print s "," substr(best, s + 1, 1) ",1"
}' >lake8_best.csv

# Probability to win from k of n: k / n; expected duration k (n - k).
for case in 2/1/0.5/1 3/1/0.333333333333333/2 5/2/0.4/6 10/5/0.5/25; do
    IFS=/ read -r n k chance duration <<<"$case"
    run evaluate ruin$n.csv --goal $n --initial $k --policy uniform --radius 0 --json
    expect_status 0
    close nominal_return $chance
    close duration $duration
done
run evaluate steps5.csv --discount 1 --initial 2 --policy uniform --radius 0 --json
close nominal_return 6
run evaluate steps5.csv --until 5,0 --initial 2 --policy uniform --radius 0 --json
close nominal_return 6
run solve lake.csv --goal 15 --initial 0 --out lake_best.csv --json
close nominal_optimum 0.823529411764706

# Worst cases, proven, with files that verify; the first two and the gambler at 0.3 have closed forms.
enough_for_memcheck
worst() { # file, goal, start, policy, options, worst return
    run evaluate "$1" --goal "$2" --initial "$3" --policy "$4" $5 --json --kernel worst.npz --witness worst.json
    expect_status 0
    close robust_return "$6"
    expect_json certified true
    run verify "$1" --goal "$2" --initial "$3" --policy "$4" --kernel worst.npz --witness worst.json
    expect_status 0
}
worst ruin2.csv 2 1 uniform "--radius 0.1 --domain support" 0.429289321881
worst ruin2.csv 2 1 uniform "--radius 0.1" 0.429052434524
worst ruin3.csv 3 1 uniform "--radius 0.1 --domain support" 0.266413701921
worst ruin3.csv 3 1 uniform "--radius 0.3 --domain support" 0.154098444940
worst ruin3.csv 3 1 uniform "--radius 0.1" 0.259686574188
worst ruin5.csv 5 2 uniform "--radius 0.1 --domain support" 0.312338265624
worst ruin5.csv 5 2 uniform "--radius 0.1" 0.268339473144
worst ruin10.csv 10 5 uniform "--radius 0.1 --domain support" 0.372180295465
worst lake.csv 15 0 uniform "--radius 0.05 --domain support" 0.0123500753203
worst lake.csv 15 0 uniform "--radius 0.1 --domain support" 0.0109077573268
worst lake.csv 15 0 uniform "--radius 0.3 --domain support" 0.00639465889378
worst lake.csv 15 0 uniform "--radius 0.05" 0.0114355756434
worst lake.csv 15 0 lake_best.csv "--radius 0.05 --domain support" 0.78230774285
worst lake.csv 15 0 lake_best.csv "--radius 0.1 --domain support" 0.735272961173
worst lake.csv 15 0 uniform "--radius 0.1 --domain support --set sa" 0.002910243608
worst lake.csv 15 0 uniform "--radius 0.1 --set sa" 0.001225470911
worst lake.csv 15 0 lake_best.csv "--radius 0.3 --domain support --set sa" 0.07065892418
worst lake.csv 15 0 lake_best.csv "--radius 0.05 --set sa" 0.1104072515
worst lake.csv 15 0 uniform "--radius 0.05 --domain support --set sa" 0.006704473945
worst lake.csv 15 0 uniform "--radius 0.3 --domain support --set sa" 1.089887177e-05
worst lake.csv 15 0 uniform "--radius 0.05 --set sa" 0.00431730178
worst lake.csv 15 0 lake_best.csv "--radius 0.05 --domain support --set sa" 0.7260371655
worst lake.csv 15 0 lake_best.csv "--radius 0.1 --domain support --set sa" 0.5996927908
worst lake8.csv 63 0 uniform "--radius 0.05 --domain support" 0.00160074457711
worst lake8.csv 63 0 uniform "--radius 0.1 --domain support" 0.00134239139921
worst lake8.csv 63 0 uniform "--radius 0.05 --domain support --set sa" 0.0003085120119
worst lake8.csv 63 0 uniform "--radius 0.1 --domain support --set sa" 3.76674349e-05
worst lake8.csv 63 0 lake8_best.csv "--radius 0.1 --domain support" 1
worst lake8.csv 63 0 lake8_best.csv "--radius 0.1 --domain support --set sa" 1
worst lake8.csv 63 0 lake8_best.csv "--radius 0.05 --set sa" 0.001909981123
worst ruin10.csv 10 5 uniform "--radius 0.1" 0.216614147437
worst lake.csv 15 0 uniform "--radius 0.1" 0.00936856088904
worst lake.csv 15 0 lake_best.csv "--radius 0.05" 0.309017874003
worst lake.csv 15 0 lake_best.csv "--radius 0.3 --domain support --certify strict --time 60" 0.489731026409

# Worst cases that are found and not proven, next to what the other program found.
attained() { # file, goal, start, policy, options, worst return known
    run evaluate "$1" --goal "$2" --initial "$3" --policy "$4" $5 --json
    expect_status 0
    awk -v a="$(number robust_return)" -v low="$(number lower_bound)" -v b="$6" \
        'BEGIN { exit !(a != "" && (a - b) ^ 2 <= 1e-14 * b ^ 2 && low <= a) }' ||
        complain "expected $6, found $(number robust_return), at least $(number lower_bound)"
}
attained lake8.csv 63 0 lake8_best.csv "--radius 0.05" 0.0868738996841

# With negative entries: no probability any more; breakdown.
free() { # file, goal, start, policy, radius, worst return, breakdown
    run evaluate "$1" --goal "$2" --initial "$3" --policy "$4" --radius "$5" --domain free --certify strict --json \
        --kernel worst.npz --witness worst.json
    expect_status 0
    expect_err "no probability"
    close robust_return "$6"
    expect_json certified true
    awk -v a="$(number breakdown_radius)" -v b="$7" 'BEGIN { exit !((a - b) ^ 2 <= 1e-14 * b ^ 2) }' ||
        complain "expected breakdown at $7, found $(number breakdown_radius)"
    run verify "$1" --goal "$2" --initial "$3" --policy "$4" --kernel worst.npz --witness worst.json
    expect_status 0
}
free ruin2.csv 2 1 uniform 0.1 0.429052434524 1.22474487139
free ruin3.csv 3 1 uniform 0.1 0.220412804217 0.707106781187
free ruin5.csv 5 2 uniform 0.1 0.111753207386 0.314025765080
free lake.csv 15 0 uniform 0.1 -0.1941269435 0.45822645
free lake.csv 15 0 lake_best.csv 0.01 0.5563971329 0.02796139
expect_failure 4 "breakdown is at 0.027961" evaluate lake.csv --goal 15 --initial 0 --policy lake_best.csv --radius 0.1 \
    --domain free
for set in s sa; do # one state that moves: rows of 2 / 3 and 1 / 3 may be left with less
    run evaluate ruin2.csv --goal 2 --initial 1 --policy uniform --radius 0.1 --domain free --set $set --json
    expect_status 0
    close robust_return 0.429052434524
done

# The cheapest kernels that never end.
traps() { # file, goal, policy, domain, low, high
    run evaluate "$1" --goal "$2" --initial 1 --policy "$3" --domain "$4" --radius 0.1 --json
    close trap_radius_low "$5"
    close trap_radius_high "$6"
}
traps ruin3.csv 3 uniform support 1 1
traps ruin10.csv 10 uniform simplex 0.745355992500 0.745355992500
traps lake.csv 15 uniform support 1.05409255339 1.33333333333
traps lake.csv 15 uniform simplex 0.876171654 1.29099444874
# The row of state 1, (0: 1/3, 1: 1/3, 2: 1/3) moved to (1: 1/2, 2: 1/2), keeps {1, 2, 3} closed: sqrt(1/9 + 2/36).
traps lake.csv 15 lake_best.csv support 0.408248290464 0.408248290464

# How long kernels last: no more than proven, no less than chance finds (undiscounted prototype), next to what is known.
lasts() { # file, goal, start, policy, radius, longest kernel known, bound
    run evaluate "$1" --goal "$2" --initial "$3" --policy "$4" --domain support --radius "$5" --json
    awk -v a="$(number duration_bound)" -v low="$6" -v high="$7" 'BEGIN { exit !(a >= low && a <= high) }' ||
        complain "expected duration_bound between $6 and $7, found $(number duration_bound)"
}
lasts ruin3.csv 3 1 uniform 0.8 10.0388 12.5
lasts ruin3.csv 3 1 uniform 0.9 20.0404 34
lasts lake.csv 15 0 lake_best.csv 0.1 48.7 71
lasts lake.csv 15 0 lake_best.csv 0.3 48.7 971

# Past them: a probability is attained, and at least that with a discount; a return is neither.
run evaluate ruin3.csv --goal 3 --initial 1 --policy uniform --domain support --radius 1.2 --json
expect_status 0
expect_json certified false
expect_json bound '"rewards"'
expect_err "never leaves {1, 2} (distance 1)"
run evaluate ruin3.csv --goal 3 --initial 1 --policy uniform --domain support --radius 1.2
expect_out "at least 0 "
expect_out "some kernels of the ball never end"
expect_out "a radius below 0.99999"
expect_failure 4 "holds a kernel that never leaves {1, 2, 3, 4} (distance 0.79" evaluate steps5.csv --discount 1 \
    --policy uniform --radius 3
# From 0 to the goal, or to 1, which is left by 0.05 to each end: nothing can be done but stay there and lose 0.1 sqrt(2).
printf '%s\n' idstatefrom,idaction,idstateto,probability,reward 0,0,1,0.5,0 0,0,2,0.5,0 1,0,1,0.9,0 1,0,2,0.05,0 \
    1,0,3,0.05,0 2,0,2,1,0 3,0,3,1,0 >linger.csv
run evaluate linger.csv --goal 2 --initial 0 --policy uniform --domain support --radius 0.2 --set s --json
expect_status 0
expect_json bound '"discounted"'
close robust_return 0.358578643762690
awk -v low="$(number lower_bound)" 'BEGIN { exit !(low > 0.3585 && low < 0.358578643763) }' ||
    complain "expected a lower bound between 0.3585 and the worst case, found $(number lower_bound)"

# Rewards paid on landing are values of the states where one lands: a goal of value 1.
sed 's/,0$//' linger.csv | awk -F, 'NR == 1 { print $0 ",reward" } NR > 1 { print $0 "," ($3 == 2 && $1 != 2) }' |
    sed 's/,reward,reward/,reward/' >paid.csv
for set in nonrect s sa; do
    run evaluate linger.csv --goal 2 --initial 0 --policy uniform --domain support --radius 0.1 --set $set --json
    expect_json certified true
    chance=$(number robust_return)
    run evaluate paid.csv --discount 1 --initial 0 --policy uniform --domain support --radius 0.1 --set $set --json
    expect_json certified true
    close robust_return "$chance"
done

# Many radii, the largest radius, the gradient and shares of the penalty.
run sweep lake.csv --goal 15 --initial 0 --policy uniform --domain support --radius 0.05:0.1:2 --json
expect_status 0
expect_out 0.0123500753203
expect_out 0.0109077573267
run radius lake.csv --goal 15 --initial 0 --policy uniform --domain support --target 0.0109077573268 --json
expect_status 0
[[ $(number radius) == 0.1 || $(number radius) == 0.09999999* || $(number radius) == 0.1000000* ]] ||
    complain "expected radius 0.1"
run gradient lake.csv --goal 15 --initial 0 --policy uniform --domain support --radius 0.1 --out g.csv
expect_status 0
run evaluate lake.csv --goal 15 --initial 0 --policy uniform --domain support --radius 0.1 --explain --json
expect_status 0

# The best policy in the worst case: no action of another one is better (sa); mixed where rows of a state share a radius.
best() { # options, least robust return
    run optimize lake.csv --goal 15 --initial 0 --out robust.csv --json $1 --kernel worst.npz --witness worst.json
    expect_status 0
    expect_json certified true
    awk -v a="$(number robust_return)" -v b="$2" 'BEGIN { exit !(a >= b - 1e-9) }' ||
        complain "expected a worst return of at least $2, found $(number robust_return)"
    run verify lake.csv --goal 15 --initial 0 --policy robust.csv --kernel worst.npz --witness worst.json
    expect_status 0
}
best "--radius 0.1 --domain support --set sa" 0.5996927908
best "--radius 0.1 --domain support --set s" 0.6133003970
best "--radius 0.1 --domain support" 0.7398499573
best "--radius 0.02" 0.5296467887
run evaluate lake.csv --goal 15 --initial 0 --policy robust.csv --policy lake_best.csv --difference --radius 0.02 --json
expect_status 0

# What is wrong, and what is not there.
run generate riverswim river.npz --quiet
expect_failure 4 "no state ends the process" evaluate river.npz --discount 1 --policy uniform --radius 0.1 --frozen-rewards
expect_failure 2 "neither a label" info lake.csv --goal nowhere
expect_failure 2 "not in the model" info lake.csv --goal 99
expect_failure 2 "on the way to --goal" info lake.csv --avoid 5 --discount 1
expect_failure 2 "one of both" info lake.csv --goal 15 --until 5
expect_failure 2 "both a goal and to be avoided" info lake.csv --goal 15 --avoid 15
expect_failure 2 "the discount is 0.9" info lake.csv --goal 15 --discount 0.9
printf '%s\n' idstatefrom,idaction,idstateto,probability,reward 0,0,1,0.5,0 0,0,2,0.5,0 1,0,1,1,0 2,0,3,1,0 3,0,2,1,0 >lost.csv
expect_failure 2 "with --avoid" evaluate lost.csv --goal 1 --policy uniform --radius 0.1 --domain free
expect_failure 2 "paid on landing" evaluate paid.csv --discount 1 --initial 0 --policy uniform --radius 0.1 --domain free
expect_failure 2 "without a discount" optimize lake.csv --goal 15 --radius 0.1 --domain free --out x.csv
expect_failure 2 "needs a discount" optimize lake.csv --goal 15 --radius 0.1 --method paper --out x.csv
expect_failure 4 "never leaves {0, 1, 2, 3} (distance 0.4714)" optimize lake.csv --goal 15 --initial 0 --radius 0.5 --set sa \
    --domain support --out x.csv
expect_failure 2 "without a discount" convert lake.csv lake.npz --goal 15
printf '%s\n' idstatefrom,idaction,idstateto,probability,reward 0,0,0,1,0 0,1,1,1,0 1,0,1,1,0 >stay.csv
printf '%s\n' idstate,idaction,probability 0,0,1 1,0,1 >stay_policy.csv
expect_failure 4 "never ends from 1 state {0}" evaluate stay.csv --goal 1 --policy stay_policy.csv --radius 0.1

# Labels of model checkers; two dice made of coins.
folder=${NADIR_FOREIGN_MODELS:-}
if [[ -f $folder/two_dice.drn ]]; then
    dice() { # file and question, options, nominal return, worst return
        run evaluate $1 --policy uniform --domain support $2 --json
        expect_status 0
        close nominal_return "$3"
        close robust_return "$4"
        expect_json certified true
    }
    flips="$folder/two_dice.drn --reward-model coinflips --discount 1"
    seven="$folder/two_dice.drn --goal seven"
    two="$folder/two_dice.tra --labels $folder/two_dice.lab --goal two"
    dice "$flips" "--radius 0.1 --optimistic" 7.33333333333333 7.38808770051
    dice "$flips" "--radius 0.3 --optimistic" 7.33333333333333 7.50349694724
    dice "$flips" "--radius 0.1" 7.33333333333333 7.28040484802
    dice "$flips" "--radius 0.1 --optimistic --set sa" 7.33333333333333 7.932171651
    dice "$flips" "--radius 0.3 --optimistic --set sa" 7.33333333333333 10.11576381
    dice "$flips" "--radius 0.1 --set sa" 7.33333333333333 6.903699446
    dice "$seven" "--radius 0.1" 0.166666666666667 0.156205810595
    dice "$seven" "--radius 0.3" 0.166666666666667 0.13650524575
    dice "$seven" "--radius 0.1 --set sa" 0.166666666666667 0.1020287485
    dice "$seven" "--radius 0.3 --set sa" 0.166666666666667 0.0257006883
    dice "$two" "--radius 0.1" 0.0277777777777778 0.0227152746569
    dice "$two" "--radius 0.1 --set sa" 0.0277777777777778 0.01098010802
fi

# Patients: the optimum, and worst cases that are proven, for the policy in the file.
if [[ -f $folder/icu_sepsis.npz ]] && command -v unzip >/dev/null; then
    patients=("$folder/icu_sepsis.npz" --goal 714 --avoid 713)
    unzip -p "$folder/icu_sepsis.npz" expert_policy.npy >expert.npy
    run solve "${patients[@]}" --out best.npy --json
    close nominal_optimum 0.875141699610
    run sweep "${patients[@]}" --policy expert.npy --radius 0.01:0.03:2 --domain support --json
    expect_status 0
    expect_out '"nominal_return": 0.78184489025'
    expect_out '"robust_return": 0.77980881567'
    expect_out '"robust_return": 0.77575658766'
    expect_out '"certified": true'
    ! grep -q '"certified": false' stdout.txt || complain "expected both radii to be certified"
fi
finish
