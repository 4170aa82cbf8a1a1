# --norm chi2, and models with weights of entries.
source "$(dirname "$0")/../support/cli.sh"

# One row that moves: the worst mean of a chi^2 ball is that many standard deviations below, 0.9 (3 - 0.1 sqrt(0.21) 10).
cat >model.csv <<'END'
state,action,next_state,probability,reward
0,0,1,0.3,0
0,0,2,0.7,0
1,0,1,1,1
2,0,2,1,0
END
near() { # name value
    awk -v a="$(number "$1")" -v b="$2" 'BEGIN { d = a - b; exit !(d < 1e-9 && d > -1e-9) }' || complain "$1 is not $2"
}
chi=(model.csv --policy uniform --discount 0.9 --initial 0 --norm chi2 --quiet)
for set in nonrect s sa; do
    run evaluate "${chi[@]}" --set $set --radius 0.1 --json --kernel worst.npz --witness worst.json
    expect_status 0
    expect_json norm '"chi2"'
    expect_json domain '"support"'
    expect_json certified true
    near robust_return 2.28756818745
    run verify model.csv --policy uniform --discount 0.9 --initial 0 --kernel worst.npz --witness worst.json --json --quiet
    expect_status 0
    expect_json norm '"chi2"'
    run radius "${chi[@]}" --set $set --target 2.28756818745 --json
    expect_status 0
    awk -v r="$(number radius)" 'BEGIN { exit !(r > 0.0999999 && r < 0.1000001) }' || complain "the radius is not 0.1"
done
run sweep "${chi[@]}" --radius 0:0.2:3 --json
expect_status 0
run gradient "${chi[@]}" --radius 0.1 --out gradient.csv
expect_status 0
run optimize "${chi[@]:0:1}" "${chi[@]:3}" --radius 0.1 --out best.csv --json
expect_status 0
near robust_return 2.28756818745
run evaluate "${chi[@]}" --radius 0.1 --explain
expect_status 0
expect_out 'norm chi2'

# A kernel file that moves more than it says is refused.
run evaluate "${chi[@]}" --radius 0.2 --kernel far.npz --witness far.json
sed 's/"radius": *0.2/"radius": 0.1/' far.json >near.json
run verify model.csv --policy uniform --discount 0.9 --initial 0 --kernel far.npz --witness near.json --quiet
[ "$status" -ne 0 ] || complain "a kernel outside of its ball passed"

# Weights in an npz file: those of chi2, and their loss in other formats.
run convert model.csv model.npz --quiet
/usr/bin/python3 - <<'END'
import numpy
model = dict(numpy.load("model.npz"))
key = "P_data" if "P_data" in model else "P"
numpy.savez("weights.npz", **model, weights=numpy.sqrt(model[key]))
numpy.savez("wrong.npz", **model, weights=-model[key])
numpy.savez("word.npz", **model, norm="chi2", radius=0.1)
END
run evaluate weights.npz --policy uniform --discount 0.9 --initial 0 --radius 0.1 --json --quiet
expect_status 0
near robust_return 2.28756818745
run evaluate word.npz --policy uniform --discount 0.9 --initial 0 --json --quiet
expect_json norm '"chi2"'
near robust_return 2.28756818745
run convert weights.npz again.npz --quiet
expect_status 0
run evaluate again.npz --policy uniform --discount 0.9 --initial 0 --radius 0.1 --json --quiet
near robust_return 2.28756818745
run convert weights.npz lost.csv
expect_err 'weights of entries'
expect_failure 3 'the weight of successor' info wrong.npz

# What is not there.
expect_failure 2 'domain support' evaluate "${chi[@]}" --radius 0.1 --domain free
expect_failure 2 'which are for norm 2' evaluate weights.npz --policy uniform --discount 0.9 --radius 0.1 --norm 1
expect_failure 2 'a horizon is not there' evaluate "${chi[@]}" --radius 0.1 --horizon 3
expect_failure 2 'a number from 1 to inf, or chi2' evaluate model.csv --policy uniform --radius 0.1 --norm chi3
finish
