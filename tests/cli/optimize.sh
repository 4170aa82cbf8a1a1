# nadir optimize: known optima, what is printed and written, limits, checkpoints that survive kill -9, interruption,
# the frontier and its picture, usage.
source "$(dirname "$0")/../support/cli.sh"

generate_frozen riverswim river.npz
generate_frozen machine machine.npz

# A model in closed form: states, actions, 1 for a sparse one.
closed_form() {
    awk -v S="$1" -v A="$2" -v sparse="$3" 'BEGIN {
        print "idstatefrom,idaction,idstateto,probability,reward"
        for (s = 0; s < S; s++) for (a = 0; a < A; a++) {
            sum = 0
            for (t = 0; t < S; t++) {
                w[t] = !sparse || (s + 2 * a + 3 * t) % 5 == 0 || t == (s + 1) % S ? 1 + (7 * s + 11 * a + 13 * t) % 17 : 0
                sum += w[t]
            }
            for (t = 0; t < S; t++) if (w[t] > 0)
                printf "%d,%d,%d,%.17g,%.17g\n", s, a, t, w[t] / sum, (5 * s + 3 * a) % 11 / 10
        }
    }'
}
closed_form 8 3 0 >dense8.csv
closed_form 40 5 0 >dense40.csv
closed_form 30 4 1 >sparse30.csv

# Two numbers agree relatively, to $3.
close() {
    awk -v a="$1" -v b="$2" -v eps="$3" 'BEGIN { d = a - b; m = b < 0 ? -b : b; exit !(d <= eps * m && -d <= eps * m) }'
}
exact() {
    sed -n "s/^  \"$1\": \([^,]*\),\{0,1\}\$/\1/p" stdout.txt
}

# Optima found by other means.
while read -r model discount radius domain optimum; do
    run optimize "$model" --discount "$discount" --radius "$radius" --domain "$domain" --out best.csv --json
    expect_status 0
    expect_no_err
    expect_json certified true
    expect_json certificate '"rigorous"'
    close "$(exact robust_return)" "$optimum" 1e-6 || complain "expected $optimum"
    close "$(exact lower_bound)" "$optimum" 1e-6 || complain "expected the lower bound at $optimum"
    close "$(exact optimality_upper_bound)" "$optimum" 1e-6 || complain "expected the upper bound at $optimum"
    # The policy is in the file: evaluated anew it is worth the same.
    returned=$(exact robust_return)
    run evaluate "$model" --discount "$discount" --radius "$radius" --domain "$domain" --policy best.csv --json
    close "$(exact robust_return)" "$returned" 1e-8 || complain "the policy in the file is not worth $returned"
    memcheck && break
done <<'END'
dense8.csv 0.9 0.15 simplex 8.37853061376
dense8.csv 0.9 0.15 support 8.37853061376
dense40.csv 0.95 0.2 simplex 18.2614785625
dense40.csv 0.95 0.2 support 18.2614785625
sparse30.csv 0.9 0.16 simplex 8.95792367936
sparse30.csv 0.9 0.16 support 8.98636124773
river.npz 0.95 0.024 simplex 8871.7986877
river.npz 0.95 0.024 support 9729.75454498
machine.npz 0.9 0.059 simplex -11.6123880326
machine.npz 0.9 0.059 support -10.0884851547
END

# Every key; a policy that has to randomise, and what it costs and buys.
run optimize machine.npz --radius 0.3 --out robust.csv --kernel worst.npz --witness worst.json --json
expect_status 0
for key in nominal_optimum optimum_robust_return initial_robust_return optimality_upper_bound optimality_gap \
    evaluations stochastic_states mixed_kernels nominal_return robust_return penalty lower_bound upper_bound gap \
    certified certificate bound kappa set norm radius domain method stop_reason iterations solves breakdown_radius \
    valid_radius kernel_min kernel_valid backend evaluation states rows nonzeros model_sha256 policy_sha256 seconds \
    load nominal robust certify total warnings; do
    expect_out "\"$key\": "
done
expect_json stop_reason '"gap"'
expect_json stochastic_states 1
expect_json policy '"robust.csv"'
robust=$(exact robust_return)
awk -v w="$(exact optimum_robust_return)" -v r="$robust" -v j="$(exact nominal_return)" -v o="$(exact nominal_optimum)" \
    'BEGIN { exit !(w < r - 0.1 && r < j && j < o - 0.1) }' || complain "the four returns are not in order"
run verify machine.npz --policy robust.csv --kernel worst.npz --witness worst.json --verbose
expect_status 0
expect_out "the policy's file is the one of the evaluation"
run evaluate machine.npz --policy optimal --radius 0.3 --certify off --json
optimal=$(exact robust_return)
run optimize machine.npz --radius 0.3
expect_status 0
for words in "Worst case   -" "no policy guarantees more   proven" "Next         nadir optimize machine.npz --radius 0.3 --out robust.csv" \
    "age0 " "wait"; do
    expect_out "$words"
done
run optimize machine.npz --radius 0.3 --out robust.npy --verbose
expect_status 0
for words in "nominal optimum    -9.66788312" "price      0.315" "gain       0.374" "certified          yes" \
    "randomises in 1 of 10 states; written to robust.npy" "no policy guarantees more" "evaluations" \
    "Next         nadir evaluate machine.npz --radius 0.3 --policy robust.npy --explain"; do
    expect_out "$words"
done
[[ $(head -c 6 robust.npy | tail -c 5) == NUMPY ]] || complain "robust.npy is no npy file"
run evaluate machine.npz --policy robust.npy --radius 0.3 --json
close "$(exact robust_return)" "$robust" 1e-8 || complain "robust.npy is another policy"

# Beside the user's own policy: what evaluate says of it in the same ball, and where the two differ.
run optimize machine.npz --radius 0.3 --policy optimal
expect_status 0
expect_out "Compared     optimal: -"
expect_out "nominal -9.6679; differs in"
expect_out " of 10 states   proven"
run optimize machine.npz --radius 0.3 --policy uniform --json
expect_status 0
expect_out '"compared": {'
sed '1,/"compared"/d; s/^  //' stdout.txt >compared.txt
mv compared.txt stdout.txt
expect_json policy '"uniform"'
expect_json states_differing 10
uniform=$(exact lower_bound)
run evaluate machine.npz --radius 0.3 --policy uniform --json
[[ $(exact lower_bound) == "$uniform" ]] || complain "evaluate and optimize --policy have other bounds"
run optimize machine.npz --radius 0.3 --policy robust.npy
expect_out "differs in 0 of 10 states"
run optimize machine.npz --radius 0.3 --policy unifrom
expect_status 3
expect_err "did you mean uniform?"
run optimize machine.npz --radius 0.3 --policy robust.csv --out robust.csv
expect_status 2

# Limits: the best policy so far, marked so, and exit 5.
run optimize machine.npz --radius 0.3 --out limited.csv --start uniform --max-evaluations 2 --json
expect_status 5
expect_json stop_reason '"evaluations"'
expect_json evaluations 2
expect_json certified false
expect_err "limit of evaluations"
[[ -s limited.csv ]] || complain "no policy"
run optimize machine.npz --radius 0.3 --out limited.csv --start uniform --time-limit 0 --json
expect_status 5
expect_json stop_reason '"time"'
run optimize machine.npz --radius 0.3 --out limited.csv --start uniform --time-limit 0
expect_out "best policy not proven"
expect_out "Try  "
expect_out "the time is up"

enough_for_memcheck

# Other sets, norms, methods and degenerate questions have their answers.
run generate garnet garnet.npz --states 20 --branch 6 --seed 2 --quiet
for options in "--set sa" "--set s" "--norm 1" "--norm inf" "--method spectral" "--domain free --radius 0.01"; do
    [[ $options == *--radius* ]] || options+=" --radius 0.1"
    # shellcheck disable=SC2086 # several words
    run optimize garnet.npz $options --out other.csv --json
    expect_status 0
    [[ $options == *--set* || $options == *inf* ]] && expect_json method '"bellman"' && expect_json certified true
    awk -v w="$(exact optimum_robust_return)" -v r="$(exact robust_return)" 'BEGIN { exit !(r >= w - 1e-6) }' ||
        complain "worse than the nominal optimum"
done
# Rectangular sets by two methods; limits and checkpoints there.
for set in sa s; do
    run optimize garnet.npz --set $set --radius 0.3 --out other.csv --json
    expect_json certified true
    bellman=$(exact robust_return)
    awk -v w="$(exact optimum_robust_return)" -v r="$bellman" 'BEGIN { exit !(r > w + 1e-3) }' ||
        complain "nothing was gained over the nominal optimum"
    rm -f other.ckpt
    run optimize garnet.npz --set $set --radius 0.3 --out other.csv --checkpoint other.ckpt --max-evaluations 2 --json
    expect_status 5
    expect_json method '"bellman"'
    expect_json stop_reason '"evaluations"'
    awk -v r="$(exact robust_return)" -v l="$(exact lower_bound)" -v u="$(exact optimality_upper_bound)" -v b="$bellman" \
        'BEGIN { exit !(l <= r && r < b * (1 + 1e-6) && u > b * (1 - 1e-9)) }' || complain "expected bounds around $bellman"
    run optimize garnet.npz --set $set --radius 0.3 --out other.csv --resume other.ckpt --json
    expect_status 0
    expect_json certified true
    close "$(exact robust_return)" "$bellman" 1e-9 || complain "expected $bellman"
    expect_failure 3 "another model, ball or method" optimize garnet.npz --set $set --radius 0.3 --out other.csv \
        --resume other.ckpt --method quasi-newton
    run optimize garnet.npz --set $set --radius 0.3 --out other.csv --method quasi-newton --json
    # Its gradients do not lead over kinks, and it knows: what it reports is not above, and its bounds hold.
    awk -v r="$(exact robust_return)" -v u="$(exact optimality_upper_bound)" -v b="$bellman" \
        'BEGIN { exit !(r < b * (1 + 1e-6) && r > b * (1 - 1e-3) && u > b * (1 - 1e-9)) }' || complain "expected $bellman or so"
done
run optimize garnet.npz --set sa --radius 0.3 --out other.csv --time-limit 0
expect_status 5
expect_out "the time is up"
# Rewards at the end of the range of numbers.
printf '%s\n' idstatefrom,idaction,idstateto,probability,reward 0,0,0,0.5,1e300 0,0,1,0.5,1e300 1,0,2,1,0 1,1,0,1,3e299 \
    1,2,1,0.9,2e299 1,2,2,0.1,2e299 2,0,2,1,0 >huge.csv
run optimize huge.csv --discount 0.999999 --radius 0.1 --domain support --out other.csv --json
expect_status 0
expect_json stop_reason '"gap"'
# The bounds tell whether the gap is closed, however the search ended: on the free domain they do not meet.
run optimize machine.npz --set s --radius 0.05 --domain free --method bellman --out other.csv --json
expect_status 0
expect_json certificate '"none"'
expect_json stop_reason '"stationary"'
run optimize machine.npz --radius 0 --out nothing.csv --json
close "$(exact robust_return)" "$(exact nominal_optimum)" 1e-9 || complain "radius 0 is not the nominal optimum"
run optimize machine.npz --radius 0.3 --method paper --step 0.01 --max-evaluations 300 --out paper.csv --json
expect_json method '"paper"'
awk -v r="$(exact robust_return)" -v best="$robust" -v first="$optimal" \
    'BEGIN { exit !(r <= best + 1e-6 && r > first + 0.5 * (best - first)) }' || complain "the paper's steps led nowhere"

# kill -9 at any moment, then --resume: the same final value. Checkpoints are written after every step.
run generate garnet long.npz --states 60 --actions 6 --branch 12 --seed 5 --quiet
long=(long.npz --radius 0.7 --certify off --gap 1e-8 --checkpoint-interval 0 --threads 1 --json)
begun=${EPOCHREALTIME/./}
run optimize "${long[@]}" --out whole.csv --checkpoint whole.ckpt
took=$((${EPOCHREALTIME/./} - begun))
expect_status 0
wanted=$(exact robust_return)
expect_json stop_reason '"gap"'
steps=$(exact iterations)
((steps >= 5)) || complain "expected a longer search: $steps steps"
resumed=0
for percent in 15 30 45 60 75 90; do
    rm -f part.ckpt part.csv
    last="nadir optimize ${long[*]}, killed after $percent %"
    "$NADIR" optimize "${long[@]}" --out part.csv --checkpoint part.ckpt >stdout.txt 2>stderr.txt </dev/null &
    process=$!
    sleep "$(awk -v t="$took" -v p="$percent" 'BEGIN { print t * p / 1e8 }')"
    kill -KILL "$process" 2>/dev/null
    wait "$process" 2>/dev/null
    [[ -e part.ckpt ]] || continue # killed before the first step: nothing to resume
    resumed=$((resumed + 1))
    run optimize "${long[@]}" --out part.csv --checkpoint part.ckpt --resume part.ckpt
    expect_status 0
    close "$(exact robust_return)" "$wanted" 1e-9 || complain "expected $wanted, as without kill -9"
    rm -f part.ckpt.*.tmp .part.ckpt.* # what a killed process leaves behind
done
((resumed > 0)) || complain "never killed in time"
# Stopped by a limit and resumed, step by step: the same.
rm -f part.ckpt
run optimize "${long[@]}" --out part.csv --checkpoint part.ckpt --max-evaluations 3
expect_status 5
[[ -s part.ckpt ]] || complain "no checkpoint at the limit"
run optimize "${long[@]}" --out part.csv --resume part.ckpt
expect_status 0
close "$(exact robust_return)" "$wanted" 1e-9 || complain "expected $wanted, as without a limit"
# A checkpoint of a search that looks at responses in passing: it does not know the nominal return of its best policy.
run generate garnet short.npz --states 6 --actions 3 --branch 6 --seed 1 --quiet
short=(short.npz --radius 0.5 --certify off --gap 1e-8 --threads 1 --json --out part.csv)
run optimize "${short[@]}"
wanted=$(exact robust_return)
run optimize "${short[@]}" --checkpoint short.ckpt --checkpoint-interval 0 --max-evaluations 3
expect_status 5
run optimize "${short[@]}" --resume short.ckpt
expect_status 0
close "$(exact robust_return)" "$wanted" 1e-9 || complain "expected $wanted, as without a stop"

# A checkpoint of something else is refused, and so is one that is damaged.
expect_failure 3 "another model, ball or method" optimize long.npz --radius 0.6 --out part.csv --resume part.ckpt
expect_failure 3 "another model, ball or method" optimize machine.npz --radius 0.7 --out part.csv --resume part.ckpt
expect_failure 3 "another model, ball or method" optimize long.npz --radius 0.7 --method spectral --out part.csv --resume part.ckpt
head -c 500 part.ckpt >cut.ckpt
expect_failure 3 "cut.ckpt" optimize long.npz --radius 0.7 --out part.csv --resume cut.ckpt
expect_failure 3 "river.npz" optimize long.npz --radius 0.7 --out part.csv --resume river.npz
expect_failure 3 "nosuch.ckpt" optimize long.npz --radius 0.7 --out part.csv --resume nosuch.ckpt

# Interrupted: exit 7, the best policy so far and a checkpoint.
slow=(long.npz --radius 0.7 --method paper --step 1e-9 --max-evaluations 1000000 --certify off --json)
for signal in INT TERM; do
    rm -f stopped.*
    last="nadir optimize ${slow[*]}, then SIG$signal"
    # A command in the background ignores SIGINT unless it is told not to.
    env --default-signal=INT "$NADIR" optimize "${slow[@]}" --out stopped.csv --checkpoint stopped.ckpt --checkpoint-interval 0 \
        >stdout.txt 2>stderr.txt </dev/null &
    process=$!
    for ((wait = 0; wait < 500; wait++)); do
        [[ -e stopped.ckpt ]] && break
        sleep 0.02
    done
    kill "-$signal" "$process"
    wait "$process"
    status=$?
    out=$(cat stdout.txt)
    err=$(cat stderr.txt)
    expect_status 7
    expect_err "interrupted"
    expect_json stop_reason '"interrupted"'
    expect_json radius 0.7
    expect_json certified false
    [[ -s stopped.csv && -s stopped.ckpt ]] || complain "no policy, or no checkpoint"
    returned=$(exact robust_return)
    run evaluate long.npz --policy stopped.csv --radius 0.7 --certify off --json
    expect_status 0
    close "$(exact robust_return)" "$returned" 1e-2 || complain "stopped.csv is not the policy of the checkpoint"
done
run optimize "${slow[@]:0:3}" --method paper --step 1e-9 --max-evaluations 1 --certify off --out stopped.csv --resume stopped.ckpt --json
expect_status 5

# The frontier: a table, JSON, a picture.
run optimize machine.npz --radius 0.3 --out robust.csv --radii 0:0.3:4 --json
expect_status 0
[[ $(grep -c '"optimum_robust_return"' stdout.txt) == 5 ]] || complain "expected four points"
mapfile -t worst < <(sed -n 's/^      "robust_return": \(.*\),$/\1/p' stdout.txt)
mapfile -t nominal < <(sed -n 's/^      "nominal_return": \(.*\),$/\1/p' stdout.txt)
close "${worst[3]}" "$robust" 1e-9 || complain "the last point is not the policy asked for"
close "${worst[0]}" "${nominal[0]}" 1e-9 || complain "the first point is not the nominal optimum"
for place in 1 2 3; do
    awk -v a="${worst[place - 1]}" -v b="${worst[place]}" 'BEGIN { exit !(b < a) }' || complain "worst returns do not fall"
done
run optimize machine.npz --radius 0.2 --out single.csv --json
close "$(exact robust_return)" "${worst[2]}" 2e-6 || complain "another optimum at radius 0.2"
# The checkpoint is that of the policy asked for, whatever the frontier does.
run optimize machine.npz --radius 0.3 --out robust.csv --radii 0.1:0.6:2 --checkpoint frontier.ckpt --checkpoint-interval 0
expect_status 0
run optimize machine.npz --radius 0.3 --out robust.csv --resume frontier.ckpt --json
expect_status 0
close "$(exact robust_return)" "$robust" 1e-9 || complain "expected $robust"
# Where states have radii of their own, all of them shrink alike; the largest gives its name.
awk 'BEGIN { print "idstate,value"; for (s = 0; s < 10; s++) print s "," (s + 1) / 50 }' >radii.csv
awk 'BEGIN { print "idstate,value"; for (s = 0; s < 10; s++) print s "," (s + 1) / 100 }' >halves.csv
run optimize machine.npz --radius halves.csv --set s --out single.csv --json
expect_json radius 0.1
halves=$(exact robust_return)
run optimize machine.npz --radius radii.csv --set s --out robust.csv --radii 0.1:0.2:2 --json
mapfile -t worst < <(sed -n 's/^      "robust_return": \(.*\),$/\1/p' stdout.txt)
close "${worst[0]}" "$halves" 2e-6 || complain "another optimum with half the radii: $halves"
close "${worst[1]}" "$(exact robust_return)" 1e-9 || complain "the last point is not the policy asked for"
run optimize machine.npz --radius 0.01 --domain free --out robust.csv --radii 0:2:5
expect_status 0
expect_err "frontier: "
expect_err "are left out"
run optimize machine.npz --radius 0.3 --out robust.csv --radii 0.1:0.3:3 --time-limit 0 --start uniform --json
expect_status 5
expect_err "radii, from 0.1 on, are left out: the time is up"
if command -v gnuplot >/dev/null; then
    for name in plain.svg plain.png "o'ne \`touch spoiled\` \$(touch spoiled);\"x\".svg"; do
        run optimize machine.npz --radius 0.3 --out robust.csv --plot "$name"
        expect_status 0
        expect_no_err
        [[ -s $name ]] || complain "no picture $name"
        expect_out "nominal optimum's"
    done
    [[ ! -e spoiled ]] || complain "something ran"
    [[ $(head -c 4 plain.png | tail -c 3) == PNG ]] || complain "plain.png is no PNG"
    grep -q '</svg>' plain.svg || complain "plain.svg is not whole"
    for word in 'machine.npz: what robustness costs' 'return in the worst case' 'return if the model is right' 'robust policies' 'policy optimal' 'the same radius' 'radius 0.3'; do
        grep -q ">.*$word" plain.svg || complain "plain.svg does not say $word"
    done
    run optimize river.npz --radius 0 --out robust.csv --plot single.svg
    expect_status 0
fi

# Progress on a terminal: the step, the worst return, the gap, the time left; nothing in a pipe.
if script --quiet --command true /dev/null >/dev/null 2>&1 </dev/null; then
    line=("$NADIR" optimize "${slow[@]:0:11}" --time-limit 2 --out stopped.csv)
    last="${line[*]}, on a terminal"
    script --quiet --command "${line[*]@Q} >stdout.txt" terminal.txt >/dev/null </dev/null
    err=$(cat terminal.txt)
    for words in "step " "worst return " ", gap " " s left"; do
        expect_err "$words"
    done
fi
run optimize "${slow[@]:0:11}" --time-limit 1.5 --out stopped.csv
[[ $err != *"step "* ]] || complain "progress without a terminal"

# Files that are read are not written over; folders that are not there are told before the work.
cp machine.npz copy.npz
expect_failure 2 "is read, and would be written over" optimize copy.npz --radius 0.1 --out copy.npz
expect_failure 2 "is read, and would be written over" optimize copy.npz --radius 0.1 --out x.csv --checkpoint copy.npz
expect_failure 2 "is read, and would be written over" optimize copy.npz --radius 0.1 --out part.ckpt --resume part.ckpt
expect_failure 2 "is read, and would be written over" optimize copy.npz --radius 0.1 --start robust.csv --out robust.csv
expect_failure 2 "would be written twice" optimize copy.npz --radius 0.1 --out x.csv --witness x.csv
cmp -s machine.npz copy.npz || complain "the model was changed"
expect_failure 6 "nosuch/x.csv: cannot write the file" optimize copy.npz --radius 0.1 --out nosuch/x.csv
expect_failure 6 "nosuch/c: cannot write the file" optimize copy.npz --radius 0.1 --out x.csv --checkpoint nosuch/c
mkdir folder
expect_failure 6 "folder: cannot write the file: a directory stands there" optimize copy.npz --radius 0.1 --out folder
[[ -z $out ]] || complain "the work was done all the same"
[[ ! -e x.csv ]] || complain "something was written"

# A state that is hardly visited and played badly: the kernel of the first policy goes to the upper bound, which stays open.
cat >rare.csv <<'MODEL'
idstatefrom,idaction,idstateto,probability,reward
0,0,0,0.99,0.5
0,0,1,0.01,0.5
0,1,0,0.01,0
0,1,1,0.99,0
1,0,0,0.9,0
1,0,1,0.1,0
1,1,0,0.1,1
1,1,1,0.9,1
MODEL
printf 'idstate,idaction,probability\n0,0,1\n1,0,1\n' >bad.csv
run optimize rare.csv --discount 0.9 --initial 0 --radius 0.005 --start bad.csv --gap 0.2 --out o.csv --json
expect_status 0
expect_json certified true

# Usage.
expect_failure 2 "--radius is needed" optimize machine.npz --out x.csv
expect_failure 2 "--method" optimize machine.npz --radius 0.1 --out x.csv --method newton
expect_failure 2 "expected LO:HI:N" optimize machine.npz --radius 0.1 --out x.csv --radii 0:1
expect_failure 2 "a picture ends with .svg or .png" optimize machine.npz --radius 0.1 --out x.csv --plot x.pdf
expect_failure 2 "gap" optimize machine.npz --radius 0.1 --out x.csv --gap -1
expect_failure 2 "limit" optimize machine.npz --radius 0.1 --out x.csv --time-limit -1
expect_failure 2 "limit" optimize machine.npz --radius 0.1 --out x.csv --max-evaluations 0
expect_failure 2 "step" optimize machine.npz --radius 0.1 --out x.csv --method paper --step -1
expect_failure 2 "bellman is for rectangular sets" optimize machine.npz --radius 0.1 --out x.csv --method bellman
expect_failure 3 "nosuch.npz" optimize nosuch.npz --radius 0.1 --out x.csv
expect_failure 3 "nosuch.csv" optimize machine.npz --radius 0.1 --out x.csv --start nosuch.csv
expect_failure 4 "breakdown" optimize machine.npz --radius 5 --domain free --out x.csv
[[ ! -e x.csv ]] || complain "something was written"
run optimize --help-all
expect_status 0
expect_out "--checkpoint-interval"
finish
