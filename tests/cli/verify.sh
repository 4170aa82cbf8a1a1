# nadir verify: what nadir evaluate wrote verifies; anything else does not: changed files, other models, false kernels.
source "$(dirname "$0")/../support/cli.sh"

generate_frozen riverswim river.npz
run solve river.npz --out best.csv --quiet
for domain in free simplex support; do
    run evaluate river.npz --policy best.csv --radius 0.002 --domain $domain --kernel $domain.npz --witness $domain.json
    expect_status 0
    run verify river.npz --policy best.csv --kernel $domain.npz --witness $domain.json --verbose
    expect_status 0
    expect_no_err
    expect_out "Verified     all holds   the kernel of $domain.npz returns "
    expect_out "Proven       no kernel of the ball returns less than "
    expect_out "holds: the kernel lies in the ball"
    expect_out "was proven again"
    [[ $out != *"fails:"* ]] || complain "something fails"
    run verify river.npz --policy best.csv --kernel $domain.npz
    expect_status 0
    expect_out "none was given: nothing is known of other kernels of the ball"
done

# JSON: every key, and each check with its three.
run verify river.npz --policy best.csv --kernel support.npz --witness support.json --json
expect_status 0
expect_no_err
expect_json verified true
expect_json domain '"support"'
expect_json norm 2
expect_json radius 0.002
expect_json optimistic false
expect_json scaled false
for key in model policy kernel witness checks name holds detail set nominal_return return_low return_high lower_bound \
    upper_bound certificate model_sha256 policy_sha256 warnings; do
    expect_out "\"$key\": "
done
for name in kernel_file witness_file kernel_of_witness model policy model_file policy_file ball row_sums domain distance \
    return nominal_return robust_return upper_bound lower_bound certificate kappa d_bar; do
    expect_out "\"name\": \"$name\""
done
[[ $(grep -c '"holds": true' stdout.txt) == 19 ]] || complain "19 checks"

# The best case, other sets and norms, one policy by name.
for ball in "--optimistic" "--set sa --norm 1" "--set s --norm inf --domain free" "--norm 1 --domain free --optimistic"; do
    run evaluate river.npz --policy uniform --radius 0.01 $ball --kernel k.npz --witness w.json
    run verify river.npz --policy uniform --kernel k.npz --witness w.json
    expect_status 0
done

# A ball whose rows have scales is another one than its radius alone says.
printf 'idstate,idaction,value\n' >scales.csv
for state in 0 1 2 3 4 5; do
    printf '%s,0,1\n%s,1,0.5\n' "$state" "$state"
done >>scales.csv
run evaluate river.npz --policy uniform --radius 0.01 --scales scales.csv --kernel k.npz --witness w.json
run verify river.npz --policy uniform --kernel k.npz --witness w.json
expect_status 0
expect_out "; rows with scales"
run verify river.npz --policy uniform --kernel k.npz --json
expect_json scaled true

# Another kernel, another model, another policy.
run verify river.npz --policy best.csv --kernel simplex.npz --witness support.json
expect_status 8
expect_out "fails: the witness was written for another kernel file"
expect_out "fails: kernel file and witness are about balls of another domain"
expect_err "checks failed"
run verify river.npz --policy best.csv --kernel support.npz --discount 0.9 --json
expect_status 8
expect_json verified false
expect_out '"holds": false'
run verify river.npz --policy uniform --kernel support.npz
expect_status 8
expect_out "fails: the policy is another than that of the kernel file"

# The same numbers in other files: only if that is said to be meant.
run convert river.npz other.npz --compress --quiet
sed 's/^0,/00,/' best.csv >other.csv
run verify other.npz --policy other.csv --kernel support.npz --witness support.json
expect_status 8
expect_out "fails: the model's file is another"
expect_out "fails: the policy's file is another"
run verify other.npz --policy other.csv --kernel support.npz --witness support.json --other-files
expect_status 0

enough_for_memcheck

# A byte here and there.
seed=1
for file in river.npz best.csv support.npz support.json; do
    size=$(stat -c %s $file)
    cp $file kept
    for ((i = 0; i < 25; i++)); do
        seed=$(((seed * 1103515245 + 12345) % 2147483648))
        at=$((seed % size))
        byte=$(od -An -tu1 -j $at -N 1 kept)
        printf "\\x$(printf %x $(((byte + 1 + i) % 256)))" | dd of=$file bs=1 seek=$at conv=notrunc status=none
        run verify river.npz --policy best.csv --kernel support.npz --witness support.json
        [[ $status == 8 || $status == 3 ]] || complain "byte $at of $file changed, and yet"
        cp kept $file
    done
done
run verify river.npz --policy best.csv --kernel support.npz --witness support.json
expect_status 0

# A kernel that somebody changed and packed again.
if command -v zip >/dev/null && command -v unzip >/dev/null; then
    mkdir unpacked && (cd unpacked && unzip -q ../support.npz && zip -q0 ../packed.npz ./*)
    run verify river.npz --policy best.csv --kernel packed.npz
    expect_status 8
    expect_out "fails: the kernel file does not end with the digest of its bytes"
fi

# What cannot be read, and wrong usage.
expect_failure 3 "nosuch.npz" verify river.npz --policy best.csv --kernel nosuch.npz
expect_failure 3 "nosuch.json" verify river.npz --policy best.csv --kernel support.npz --witness nosuch.json
expect_failure 3 "best.csv" verify river.npz --policy best.csv --kernel best.csv
expect_failure 2 "--kernel FILE is needed" verify river.npz --policy best.csv
expect_failure 2 "--policy FILE|uniform|optimal is needed" verify river.npz --kernel support.npz
run verify --help
expect_status 0
expect_out "exit status 8 if anything fails"

# The whole model with the worst kernel, in any format: its nominal return is the worst one.
run generate gridworld grid.npz --width 3 --height 3 --quiet
run evaluate grid.npz --policy uniform --radius 0.05 --json --kernel-model base.npz
worst=$(number robust_return)
discount=$(number discount)
for ending in npz csv tra drn MDP bin; do
    run evaluate grid.npz --policy uniform --radius 0.05 --kernel-model model.$ending --quiet
    expect_status 0
    rewards=()
    [[ $ending != tra ]] || rewards=(--rewards model.trew)
    [[ $ending != bin ]] || rewards=(--rewards model.g.bin)
    run evaluate model.$ending --policy uniform --radius 0 --discount "$discount" --initial uniform "${rewards[@]}" --json
    expect_status 0
    awk -v a="$(number robust_return)" -v b="$worst" 'BEGIN { d = a - b; exit !(d < 1e-9 && d > -1e-9) }' ||
        complain "model.$ending is worth $(number robust_return), expected $worst"
done
expect_failure 2 "the ending does not tell the format" evaluate grid.npz --policy uniform --radius 0.05 --kernel-model model.xyz
expect_failure 2 "a model needs probabilities" evaluate river.npz --policy uniform --radius 0.05 --domain free --kernel-model m.csv
finish

# A proof by the radial term of kappa, and its last number forged.
run generate inventory stock.npz
run evaluate stock.npz --policy optimal --radius 0.45 --kernel k.npz --witness w.json
expect_out "   proven"
run verify stock.npz --policy optimal --kernel k.npz --witness w.json
expect_status 0
steps=$(tr -d ' \n' <w.json | sed 's/.*"steps":\[\([^]]*\)\].*/\1/')
[[ $steps =~ ,17,[^,]*,[^,]*,[^,]*,[^,]*$ ]] || complain "the proof does not end with the radial term"
for number in 1 3 100; do
    sed "s/${steps##*,}/$number/" w.json >forged.json
    run verify stock.npz --policy optimal --kernel k.npz --witness forged.json
    expect_status 8
    expect_out "fails: the bound"
done
