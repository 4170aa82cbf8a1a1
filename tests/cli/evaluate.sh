# nadir evaluate: golden returns, every set, domain and norm, bounds, files of radii, scales, kernels and witnesses, the
# best case, refusals, wrong usage.
source "$(dirname "$0")/../support/cli.sh"

generate_frozen riverswim river.npz
generate_frozen machine machine.npz
river=(evaluate river.npz --policy uniform --quiet)

# The bounds of stdout lie around its return; $1: certified or not.
expect_bounds() {
    local lower value upper
    lower=$(sed -n 's/^  "lower_bound": \(.*\),$/\1/p' stdout.txt)
    value=$(sed -n 's/^  "robust_return": \(.*\),$/\1/p' stdout.txt)
    upper=$(sed -n 's/^  "upper_bound": \(.*\),$/\1/p' stdout.txt)
    [[ $lower == null ]] && lower=-1e308
    [[ $upper == null ]] && upper=1e308
    awk -v l="$lower" -v v="$value" -v u="$upper" 'BEGIN { exit !(l <= v && v <= u) }' ||
        complain "bounds $lower $value $upper"
    expect_json certified "$1"
}

# A number of stdout within a billionth of another.
expect_near() {
    awk -v found="$(number "$1")" -v wanted="$2" \
        'BEGIN { d = found - wanted; w = wanted < 0 ? -wanted : wanted; exit !((d < 0 ? -d : d) <= 1e-9 * w) }' ||
        complain "expected \"$1\": $2, found $(number "$1")"
}

# Radius 0: the nominal kernel alone.
for backend in auto lapack klu krylov; do
    run "${river[@]}" --radius 0 --backend $backend --json
    expect_status 0
    expect_no_err
    expect_number nominal_return 536.031320562
    expect_number robust_return 536.031320562
    expect_json penalty 0
    expect_bounds true
    expect_json certificate '"rigorous"'
    [[ $backend == auto ]] || expect_json backend "\"$backend\""
done
run evaluate machine.npz --policy uniform --radius 0 --json
expect_number nominal_return -27.7660212278

# Every key of the contract.
for key in nominal_return robust_return penalty lower_bound upper_bound gap certified certificate kappa set norm \
    radius domain method stop_reason iterations solves breakdown_radius valid_radius kernel_min kernel_valid \
    backend states rows nonzeros model_sha256 policy_sha256 seconds load nominal robust certify total; do
    expect_out "\"$key\": "
done
expect_json kappa null
expect_json breakdown_radius null
expect_json kernel_min 0
expect_json kernel_valid true
expect_json radius 0
expect_json set '"nonrect"'
expect_json norm 2
expect_json domain '"simplex"'
expect_json optimistic false

# Known returns: set domain norm radius value certified.
golden() {
    local model=$1 set domain norm radius value certified
    while read -r set domain norm radius value certified; do
        run evaluate "$model" --policy uniform --set "$set" --domain "$domain" --norm "$norm" --radius "$radius" --json
        expect_status 0
        expect_no_err
        expect_near robust_return "$value"
        expect_bounds "$certified"
        expect_json set "\"$set\""
        expect_json domain "\"$domain\""
    done
}
golden river.npz <<'END'
nonrect free 2 0.012 330.251815583 true
nonrect free 2 0.072 -936.296864937 true
nonrect free 1 0.012 460.260221961 true
nonrect free 1.5 0.012 389.456121564 false
nonrect free 3 0.012 240.03153888 false
sa free 1.5 0.003 439.674802292 false
s free 2 0.003 456.242667737 false
nonrect free inf 0.003 372.5027464 false
sa simplex 1 0.003 533.219817474 true
sa simplex 2 0.003 531.159422644 true
sa support 2 0.003 532.485273249 true
nonrect simplex inf 0.003 529.215293327 true
sa support inf 0.003 531.282158306 true
END
golden machine.npz <<'END'
nonrect free 2 0.18 -45.8093427735 true
nonrect free 1 0.03 -28.5813241462 true
sa free 3 0.0075 -30.990376551 false
s free 1 0.0075 -28.3023376788 false
sa simplex 2 0.0075 -29.4678248209 true
sa support 1 0.0075 -27.9932934679 true
END

# Every set on every domain at every kind of norm: one object, bounds around the value, a kernel of the domain.
norms=(1 1.000001 1.5 2 3 1000000 inf)
memcheck && norms=(1.5 inf)
for set in nonrect s sa; do
    for domain in simplex support free; do
        for norm in "${norms[@]}"; do
            run "${river[@]}" --set $set --domain $domain --norm $norm --radius 0.002 --json
            expect_status 0
            expect_bounds "$(sed -n 's/^  "certified": \(.*\),$/\1/p' stdout.txt)"
            [[ $(grep -c '^{' stdout.txt) == 1 ]] || complain "more than one object"
            [[ $domain == free ]] || expect_json kernel_valid true
            [[ $norm != inf ]] || expect_json norm '"inf"'
        done
    done
done
enough_for_memcheck

# With huge radii every state can be left for one that earns nothing: what is left is (2.5 + 1500) / 6.
for set in nonrect s sa; do
    for norm in 1 2 3 inf; do
        run "${river[@]}" --set $set --norm $norm --radius 1e100 --json
        expect_status 0
        expect_near robust_return 250.416666667
    done
done

# Methods and proofs.
for method in newton bisect best-response; do
    run "${river[@]}" --domain free --radius 0.072 --method $method --json
    expect_near robust_return -936.296864937
done
run "${river[@]}" --domain free --radius 0.012 --certify off --json
expect_json certified false
expect_json certificate '"none"'
run "${river[@]}" --domain free --radius 0.012 --certify strict --engine none --json
expect_json stationarity_gap null
expect_json certificate '"rigorous"'
expect_near breakdown_radius 0.24055156744

# At and past breakdown: refused, with the number.
expect_failure 4 "breakdown is at 0.24055:" "${river[@]}" --domain free --radius 0.3
expect_failure 4 "breakdown, 0.685910739" "${river[@]}" --domain free --norm 1 --radius 0.7
expect_failure 4 "breakdown" "${river[@]}" --domain free --norm 3 --radius 100
run "${river[@]}" --domain free --radius 0.3 --json
expect_status 4
expect_json exit_code 4
expect_json status '"NADIR_ERROR_ILL_POSED"'
run "${river[@]}" --domain free --radius 0.24055 --json
expect_status 0

# The best case: above the nominal return, and what the worst case of the negated rewards says.
run "${river[@]}" --domain free --radius 0.012 --optimistic --json
expect_status 0
expect_json optimistic true
expect_bounds true
best=$(number robust_return)
awk -v b="$best" 'BEGIN { exit !(b > 536.04) }' || complain "the best case is $best"
run "${river[@]}" --domain free --radius 0.012 --costs --json
expect_near robust_return "-$best"

# One radius for each state or row, and scales: files. Equal numbers are one number.
{
    echo idstate,value
    for s in 0 1 2 3 4 5; do echo "$s,0.003"; done
} >states.csv
{
    echo idstate,idaction,radius
    for s in 0 1 2 3 4 5; do
        for a in 0 1; do echo "$s,$a,0.003"; done
    done
} >rows.csv
sed 's/0.003$/2/' rows.csv >twos.csv
sed 's/0.003$/0/' rows.csv >pinned.csv
sed 's/^5,1,.*/5,1,1e-60/' twos.csv >tiny.csv
run "${river[@]}" --set sa --radius rows.csv --json
expect_near robust_return 531.159422644
expect_json radius 0.003
run "${river[@]}" --set s --domain free --radius states.csv --json
expect_near robust_return 456.242667737
run "${river[@]}" --set sa --radius 0.0015 --scales twos.csv --json
expect_near robust_return 531.159422644
run "${river[@]}" --domain free --radius 0.3 --scales pinned.csv --json
expect_status 0
expect_json penalty 0
expect_bounds true
expect_failure 2 "there are 6 radii; set sa takes 1, or one for each of the 12 rows" "${river[@]}" --set sa --radius states.csv
expect_failure 2 "the non-rectangular ball has one" "${river[@]}" --radius states.csv
expect_failure 2 "--scales takes one for each of the 12 rows" "${river[@]}" --radius 0.1 --scales states.csv
expect_failure 2 "the scale of state 5, action 1 (right) is 1e-60; expected 0, or 1e-50 or more" \
    "${river[@]}" --radius 0.1 --scales tiny.csv
expect_failure 3 "--radius: 'nosuch.csv' is neither a number nor a file" "${river[@]}" --radius nosuch.csv
expect_failure 3 "--radius: 'nan' is neither a number nor a file" "${river[@]}" --radius nan
expect_failure 3 "nosuch.csv" "${river[@]}" --radius 0.1 --scales nosuch.csv
printf 'idstate,value\n0,1\n0,1\n' >twice.csv
expect_failure 3 "twice.csv:3: state 0" "${river[@]}" --set s --radius twice.csv
printf 'idstate,value\n0,-1\n' >negative.csv
expect_failure 3 "negative.csv:2: state 0: the number is -1" "${river[@]}" --set s --radius negative.csv

# The kernel and the witness as files. A kernel of probabilities is also a model, whose return is the robust one.
run "${river[@]}" --set sa --radius 0.003 --kernel worst.npz --witness worst.json --json
expect_status 0
sum=$(sed -n 's/^  "model_sha256": //p' stdout.txt)
grep -q "\"model_sha256\": ${sum%,}" worst.json || complain "the witness names another model"
grep -q '"v": ' worst.json || complain "the witness has no value"
for file in worst.csv worst.tra worst.drn worst.MDP worst.bin; do
    run "${river[@]}" --set sa --radius 0.003 --kernel $file
    expect_status 0
    rewards=()
    [[ $file == *.tra ]] && rewards=(--rewards worst.trew)
    [[ $file == *.bin ]] && rewards=(--rewards worst.g.bin)
    run evaluate $file "${rewards[@]}" --discount 0.95 --initial uniform --policy uniform --radius 0 --quiet --json
    expect_near robust_return 531.159422644
done
run "${river[@]}" --domain free --radius 0.012 --kernel rank_one.npz --witness rank_one.json
expect_status 0
grep -q '"c": ' rank_one.json || complain "the witness has no c"
rm -f out.*
expect_failure 2 "a model needs probabilities" "${river[@]}" --domain free --radius 0.012 --kernel out.csv
expect_failure 2 "the ending does not tell the format" "${river[@]}" --radius 0.012 --kernel out.xyz
[[ -z $out ]] || complain "the ending of --kernel is looked at after the work"
expect_failure 2 "out.npz would be written twice" "${river[@]}" --radius 0.012 --kernel out.npz --witness out.npz
expect_failure 6 "nodir/out.npz" "${river[@]}" --radius 0.012 --kernel nodir/out.npz
expect_failure 6 "nodir/out.json" "${river[@]}" --radius 0.012 --witness nodir/out.json
[[ -z $(ls out.* 2>/dev/null) ]] || complain "a refused run left a file"

# The ball is named, and its norm decides the valid radius.
run generate random dense.npz --states 5 --actions 2 --quiet
run evaluate dense.npz --policy uniform --radius 0 --norm 1 --json
one=$(number valid_radius)
run evaluate dense.npz --policy uniform --radius 0 --json
two=$(number valid_radius)
[[ $one != "$two" ]] || complain "the valid radius does not depend on the norm"
expect_json kernel_valid true
[[ $(number kernel_min) != 0 ]] || complain "a dense kernel has no zero"

# So close to 1 rounding alone keeps the bounds apart, and nothing is called certified.
run "${river[@]}" --radius 0 --discount 0.9999999999 --json
expect_status 0
expect_json certified false
expect_json certificate '"none"'

# Text.
run "${river[@]}" --radius 0.05 --domain support
expect_status 0
expect_no_err
[[ $(head -n 1 stdout.txt) == "Worst case   500.99   nominal 536.03, loses 6.5 %   proven" ]] || complain "the verdict"
expect_out "Most damage  state 4, right: state 5 → state 3 and 1 other move, 84 % of the loss"
expect_out "Next         nadir optimize river.npz --radius 0.05 --domain support"
expect_out "radius 0.05, norm 2; one budget for the whole kernel; no new transitions"
[[ $out != *$'\033'* ]] || complain "colours in a pipe"
[[ $out != *seconds* ]] || complain "details that nobody asked for"
run "${river[@]}" --radius 0 --verbose
expect_status 0
expect_no_err
[[ $out != *Next* && $out != *"Most damage"* ]] || complain "nothing is lost"
expect_out "  nominal return   536.0313205"
expect_out "  worst return     536.0313205"
expect_out "  certified        yes"
expect_out "  ball             nonrect, norm 2, domain simplex, radius 0"
run "${river[@]}" --domain free --radius 0.012 --optimistic --verbose
expect_out "Best case  "
expect_out "has negative entries, down to -"
expect_out "  best return      "
expect_out "  breakdown        beyond radius 0."
expect_out "no probability; see --domain"
run "${river[@]}" --domain free --set sa --radius 0.003
[[ $(head -n 1 stdout.txt) == "Guaranteed   at least "*" nominal 536.03, loses "*" % at most" ]] || complain "what is guaranteed"
expect_out "not proven: a worse kernel is not ruled out"
expect_out "Why  "
expect_out "Try  "
# Where a smaller radius is proven it is named, and it is.
run generate garnet small.npz --states 20 --seed 3 --quiet
run evaluate small.npz --policy optimal --radius 0.5
expect_out "a smaller radius: it is proven at 0.25 at least"
run evaluate small.npz --policy optimal --radius 0.25 --json
expect_json certified true
run evaluate small.npz --policy optimal --radius 0.5 --certify off
expect_out "Why          no proof was asked for (--certify off)"
# What is guaranteed is rounded to the safe side.
run evaluate small.npz --policy optimal --radius 0.5 --json
lower=$(number lower_bound)
run evaluate small.npz --policy optimal --radius 0.5
awk -v l="$lower" -v g="$(awk 'NR == 1 { print $4 }' stdout.txt)" 'BEGIN { exit !(g <= l && g > l - 0.001) }' || complain "not at least $lower"

# Policies: a file that does not fit, and a file called uniform.
printf 'idstate,idaction,probability\n0,7,1\n' >bad.csv
expect_failure 3 "bad.csv:2" evaluate river.npz --policy bad.csv --radius 0
expect_failure 3 "nosuch.csv" evaluate river.npz --policy nosuch.csv --radius 0
run solve river.npz --out uniform --quiet
run evaluate river.npz --policy ./uniform --radius 0 --json
expect_number robust_return 10577.7677937
run evaluate river.npz --policy optimal --radius 0 --json
expect_number robust_return 10577.7677937

# Usage.
expect_failure 2 "--policy FILE|uniform|optimal is needed" evaluate river.npz --radius 0
expect_failure 2 "--radius is needed" evaluate river.npz --policy uniform
expect_failure 2 "the radius is -1; expected 0 to 1e+100" "${river[@]}" --radius -1
expect_failure 2 "the radius is inf; expected 0 to 1e+100" "${river[@]}" --radius inf
expect_failure 2 "expected a number from 1 to inf, or chi2" "${river[@]}" --radius 0 --norm 0.5
expect_failure 2 "--norm: 'nan' given" "${river[@]}" --radius 0 --norm nan
expect_failure 2 "expected nonrect|s|sa" "${river[@]}" --radius 0 --set rect
expect_failure 2 "expected simplex|support|free" "${river[@]}" --radius 0 --domain real
expect_failure 2 "expected off|auto|strict" "${river[@]}" --radius 0 --certify yes
expect_failure 2 "expected auto|newton|bisect|best-response" "${river[@]}" --radius 0 --method guess
expect_failure 2 "with norm 2; leave the method to auto" "${river[@]}" --radius 0.01 --domain free --norm 3 --method newton
expect_failure 2 "a norm between 1 and inf" "${river[@]}" --radius 0.01 --domain free --norm 1 --method best-response
expect_failure 2 "is for the free domain" "${river[@]}" --radius 0.01 --set sa --method newton
expect_failure 2 "the tolerance is 0" "${river[@]}" --radius 0.01 --tolerance 0
expect_failure 2 "--kernel needs a value" "${river[@]}" --radius 0 --kernel
expect_failure 2 "unknown option --kernal; did you mean --kernel?" "${river[@]}" --radius 0 --kernal out.npz
expect_failure 4 "no state ends the process" "${river[@]}" --radius 0 --discount 1
run "${river[@]}" --radius -1 --json
expect_status 2
expect_json exit_code 2
expect_json status '"NADIR_ERROR_ARGUMENT"'
# A tolerance that rounding does not allow is no failure: the search ends where nothing changes any more.
for domain in free simplex; do
    run "${river[@]}" --set s --domain $domain --radius 0.003 --tolerance 1e-300
    expect_status 0
done

run convert river.npz plain.csv --quiet
expect_failure 3 "no discount; give one, e.g. --discount 0.95" evaluate plain.csv --policy uniform --radius 0
run evaluate --help
expect_status 0
[[ $out != *--method* && $out != *--scales* && $out == *--radius* ]] || complain "not what one needs every day"
run evaluate --help-all
expect_status 0
for option in --policy --optimistic --method --certify --tolerance --kernel --witness --backend --radius --norm --set \
    --domain --scales --discount --json; do
    expect_out "  $option"
done
# A tolerance that the return cannot show any more: steps that rounding hides must neither go on for ever nor spoil the
# kernel bit by bit.
cat >tight.csv <<'END'
idstatefrom,idaction,idstateto,probability,reward
0,0,1,1,3
0,1,0,0.17447807,-4
0,1,1,0.82552193,-4
1,0,0,1,-5
1,1,1,1,4
END
cat >tight_policy.csv <<'END'
idstate,idaction,probability
0,0,0.5155
0,1,0.4845
1,0,0.982
1,1,0.018
END
for radius in 0.001 0.0025 0.00253945 0.003 0.004; do
    run evaluate tight.csv --discount 0.5 --policy tight_policy.csv --radius $radius --optimistic --tolerance 1e-12 --json
    expect_status 0
    expect_bounds true
    (($(number iterations) < 100)) || complain "$(number iterations) iterations"
done

# One thread hashes the model itself, several leave it to one of their own.
run info tight.csv --discount 0.5 --json
digest=$(sed -n 's/^  "model_sha256": \(.*\),$/\1/p' stdout.txt)
for threads in 1 2; do
    run evaluate tight.csv --discount 0.5 --policy uniform --radius 0.001 --threads $threads --json
    expect_json model_sha256 "$digest"
done
finish
