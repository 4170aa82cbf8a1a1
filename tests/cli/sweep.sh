# nadir sweep: curves against nadir evaluate, lists of sets and domains, breakdown, files and pictures, usage.
source "$(dirname "$0")/../support/cli.sh"

run generate riverswim river.npz --quiet
run generate machine machine.npz --quiet

# Every key, and the numbers of nadir evaluate.
run sweep machine.npz --policy uniform --radius 0.1:0.3:3 --domain support --json
expect_status 0
expect_no_err
for key in nominal_return set norm domain breakdown_radius valid_radius curve radius robust_return lower_bound \
    upper_bound certified certificate backend states rows nonzeros model_sha256 policy_sha256 seconds load nominal \
    robust certify total warnings; do
    expect_out "\"$key\": "
done
[[ $(grep -c '"robust_return"' stdout.txt) == 3 ]] || complain "expected three points"
mapfile -t found < <(sed -n 's/^ *"robust_return": \(.*\),$/\1/p' stdout.txt)
place=0
for radius in 0.1 0.2 0.3; do
    run evaluate machine.npz --policy uniform --radius $radius --domain support --json
    awk -v a="${found[$place]}" -v b="$(number robust_return)" 'BEGIN { exit !(a - b < 1e-7 && b - a < 1e-7) }' ||
        complain "radius $radius: ${found[$place]} in the sweep"
    place=$((place + 1))
done

# The first radius may be 0, which is the nominal kernel; one radius alone is a sweep too.
run sweep river.npz --policy uniform --radius 0:0.1:2 --json
expect_json nominal_return "$(sed -n 's/^ *"robust_return": \(.*\),$/\1/p' stdout.txt | head -n 1)"
run sweep river.npz --policy uniform --radius 0.1:0.1:1
expect_status 0
expect_out "one budget for the whole kernel; new transitions allowed"
expect_out "1 of 1 radii proven"
run sweep river.npz --policy uniform --radius 0:0:1 --json
expect_status 0

# Several sets and domains; `curve` is the first of them.
run sweep river.npz --policy uniform --radius 0.01:0.02:2 --sets sa,nonrect --domains support,free --json
expect_status 0
expect_json set '"sa"'
expect_json domain '"support"'
[[ $(grep -c '"curve": \[' stdout.txt) == 5 ]] || complain "expected four curves and the first again"
run sweep river.npz --policy uniform --radius 0.01:0.02:2 --sets sa,nonrect --csv out.csv
expect_status 0
[[ $(wc -l <out.csv) == 5 ]] || complain "expected a header and four lines"
[[ $(head -n 1 out.csv) == set,domain,radius,nominal_return,robust_return,lower_bound,upper_bound,certified ]] ||
    complain "the header is $(head -n 1 out.csv)"
run sweep river.npz --policy uniform --radius 0.01:0.02:2 --optimistic
expect_out "  radius        guaranteed  gains at most         found"

# Radii past breakdown are left out, with its number; where none is left the request is ill-posed.
run sweep river.npz --policy uniform --radius 0:0.5:11 --domain free --json
expect_status 0
expect_err "6 of 11 radii, from 0.25 on, are left out: at or past breakdown, which is at 0.24"
[[ $(grep -c '"robust_return"' stdout.txt) == 5 ]] || complain "expected five points"
expect_out "are left out"
expect_failure 4 "breakdown" sweep river.npz --policy uniform --radius 0.3:0.5:3 --domain free
run sweep river.npz --policy uniform --radius 0.3:0.5:3 --domains free,support --json
expect_status 0
expect_err "nonrect, free: no radius has an answer"

# Pictures, in the middle of names that no shell and no gnuplot may look into.
if command -v gnuplot >/dev/null; then
    for name in plain.svg plain.png "o'ne \`touch spoiled\` \$(touch spoiled);\"x\".svg"; do
        run sweep river.npz --policy uniform --radius 0:0.3:9 --sets nonrect,sa --domains simplex,free --plot "$name" --quiet
        expect_status 0
        [[ -s $name ]] || complain "no picture $name"
    done
    [[ ! -e spoiled ]] || complain "something ran"
    [[ $(head -c 4 plain.png | tail -c 3) == PNG ]] || complain "plain.png is no PNG"
    grep -q '</svg>' plain.svg || complain "plain.svg is not whole"
    for word in 'nominal' 'one budget for the whole kernel, negative probabilities allowed' 'river.npz, policy uniform: worst case within each radius' 'radius' 'worst return'; do
        grep -q ">.*$word" plain.svg || complain "plain.svg does not say $word"
    done
    cp machine.npz "o'ne \`touch spoiled\`.npz"
    run sweep "o'ne \`touch spoiled\`.npz" --policy uniform --radius 0.1:0.2:3 --plot other.svg
    expect_status 0
    [[ ! -e spoiled ]] || complain "something ran"
    run sweep river.npz --policy uniform --radius 0.1:0.2:3 --plot nosuch/dir.svg --json
    expect_status 6
    expect_err "nosuch/dir.svg: cannot write the file"
    expect_out '"curve"' # what was found is not lost
    run sweep river.npz --policy uniform --radius 0.1:0.1:1 --plot single.png
    expect_status 0
    [[ -z $(ls ./*.tmp 2>/dev/null) ]] || complain "temporary files are left"
fi
enough_for_memcheck # which hides from a program that another one is not there

# Without gnuplot the numbers are still there, and a sentence says what to install.
mkdir bare
ordinary=(env "PATH=$PWD/bare")
run sweep river.npz --policy uniform --radius 0.1:0.2:3 --plot missing.svg
ordinary=()
expect_status 6
expect_err "gnuplot-nox"
expect_out "  radius        guaranteed  loses at most         found"
[[ ! -e missing.svg ]] || complain "there is a picture"

# What is drawn between two radii is proven for all of them: the lower bound of the larger, the upper bound of the smaller one.
printf '#!/bin/sh\ncat >script.txt\necho drawn\n' >bare/gnuplot
chmod +x bare/gnuplot
ordinary=(env "PATH=$PWD/bare:$PATH")
for side in "" --optimistic; do
    # shellcheck disable=SC2086
    run sweep machine.npz --policy optimal --radius 0:0.3:4 --csv bounds.csv --plot steps.svg $side
    ordinary=()
    expect_status 0
    awk -F '[ ,]' -v best="$side" '
        FNR == NR { if ($3 ~ /^[0-9]/) { n++; radius[n] = $3; low[n] = $6; high[n] = $7 } next }
        /^.band0/ { inside = 1; next }
        /^EOD/ { inside = 0 }
        inside { k = int(seen / 2) + 1; at = k + seen % 2; seen++
            if ($1 != radius[at] || $3 != (best == "" ? high[k] : high[k + 1])) bad = 1
            if ($2 != (best == "" ? low[k + 1] : low[k])) bad = 1 }
        END { exit bad || seen != 6 }' bounds.csv script.txt || complain "steps of ${side:-the worst case}"
    ordinary=(env "PATH=$PWD/bare:$PATH")
done
ordinary=()

# One that draws nothing, as it does with a script cut short, and calls it a success.
printf '#!/bin/sh\nexit 0\n' >bare/gnuplot
chmod +x bare/gnuplot
ordinary=(env "PATH=$PWD/bare:$PATH")
run sweep river.npz --policy uniform --radius 0.1:0.2:3 --plot missing.svg
ordinary=()
expect_status 6
expect_err "missing.svg: drawing failed: gnuplot did not do it"
[[ ! -e missing.svg ]] || complain "there is a picture"

# Usage.
expect_failure 2 "--policy FILE|uniform|optimal is needed" sweep river.npz --radius 0:1:5
expect_failure 2 "--radius LO:HI:N is needed" sweep river.npz --policy uniform
for wrong in 1 0:1 0:1:0 1:0:5 -1:1:5 0:1:5:6 0:1:x 0:inf:5 :1:5 0:1:2.5 0:1:1 0:1:1000000 nan:1:3; do
    expect_failure 2 "expected LO:HI:N" sweep river.npz --policy uniform --radius $wrong
done
expect_failure 2 "expected some of nonrect, s and sa" sweep river.npz --policy uniform --radius 0:1:5 --sets nonrect,x
expect_failure 2 "expected some of nonrect, s and sa" sweep river.npz --policy uniform --radius 0:1:5 --sets s,s
expect_failure 2 "expected some of simplex, support and free" sweep river.npz --policy uniform --radius 0:1:5 --domains free,
expect_failure 2 "--set and --sets cannot both be given" sweep river.npz --policy uniform --radius 0:1:5 --sets s --set s
expect_failure 2 "a picture ends with .svg or .png" sweep river.npz --policy uniform --radius 0:1:5 --plot out.pdf
expect_failure 3 "nosuch.npz" sweep nosuch.npz --policy uniform --radius 0:1:5
finish
