#!/usr/bin/env bash
# The command with --engine cuda: the same answers as without, 1e-10; what does not fit is refused with exit 6 and the
# sizes. Skipped, saying so, where there is no device.
set -u

# shellcheck source=tests/cuda/device.sh
. "$(dirname "$0")/device.sh"

failures=0
fail() {
    echo "FAILED: $*" >&2
    failures=$((failures + 1))
}

# The number after a key of a JSON object.
number() {
    sed -n "s/^ *\"$2\": \(-\{0,1\}[0-9.e+-]*\),\{0,1\}\$/\1/p" "$1" | head -n 1
}

same() { # WHAT: here.json against there.json
    for key in nominal_return robust_return lower_bound upper_bound kernel_min breakdown_radius; do
        local here there
        here=$(number here.json $key)
        there=$(number there.json $key)
        # Bounds have room for rounding, which differs; breakdown is a bound, too.
        awk -v a="${here:-nan}" -v b="${there:-nan}" -v key=$key 'BEGIN {
            if (a == "nan" && b == "nan") exit !(key == "kernel_min" || key == "breakdown_radius")
            scale = a < 0 ? -a : a
            limit = key == "breakdown_radius" ? 1e-2 * scale : 1e-10 * (scale > 1 ? scale : 1)
            off = a - b
            exit !((off < 0 ? -off : off) <= limit)
        }' || fail "$1: $key is $there on the device and $here without"
    done
    [[ $(grep '"certified"' here.json) == "$(grep '"certified"' there.json)" ]] || fail "$1: certified"
}

compare() { # MODEL and options
    "$NADIR" evaluate "$@" --json --quiet >here.json || fail "$*: exit $?"
    "$NADIR" evaluate "$@" --json --quiet --engine cuda >there.json || fail "$*: exit $? with the device"
    same "$*"
}

"$NADIR" generate random dense.npz --states 120 --actions 4 --seed 3 --quiet >/dev/null
"$NADIR" generate random large.npz --states 700 --actions 3 --seed 4 --quiet >/dev/null
"$NADIR" generate garnet sparse.npz --states 3000 --actions 4 --branch 5 --seed 5 --quiet >/dev/null
"$NADIR" generate garnet wide.npz --states 30000 --actions 4 --branch 5 --seed 6 --quiet >/dev/null
"$NADIR" generate garnet long.npz --states 8000 --actions 3 --branch 12 --seed 7 --quiet >/dev/null
"$NADIR" generate riverswim river.npz --quiet >/dev/null

for model in dense large sparse wide; do
    compare $model.npz --policy uniform --radius 0.01 --domain free
done
for backend in device-lu device-krylov; do
    "$NADIR" evaluate large.npz --policy uniform --radius 0.01 --domain free --json --quiet >here.json
    "$NADIR" evaluate large.npz --policy uniform --radius 0.01 --domain free --json --quiet --engine cuda \
        --backend $backend >there.json || fail "backend $backend"
    same "backend $backend"
    grep -q "\"backend\": \"$backend\"" there.json || fail "another backend than $backend"
done
compare dense.npz --policy optimal --radius 0.01 --domain free --norm 1
compare dense.npz --policy uniform --radius 0.01 --domain free --set sa
compare dense.npz --policy uniform --radius 0.05 --domain simplex
compare large.npz --policy uniform --radius 0.5 --domain simplex
compare large.npz --policy optimal --radius 0.2 --domain simplex
compare wide.npz --policy uniform --radius 0.001 --domain simplex --norm inf --set sa

# The proof that lists few successors of each row is not made with a device: the same kernel, a lower bound that is no better.
weaker() { # MODEL and options
    "$NADIR" evaluate "$@" --json --quiet >here.json || fail "$*: exit $?"
    "$NADIR" evaluate "$@" --json --quiet --engine cuda >there.json || fail "$*: exit $? with the device"
    local bound
    bound=$(number there.json lower_bound)
    awk -v here="$(number here.json lower_bound)" -v there="$bound" 'BEGIN { exit !(there <= here + 1e-10) }' ||
        fail "$*: lower_bound is $bound on the device and $(number here.json lower_bound) without"
    sed "s/\"lower_bound\": .*,\$/\"lower_bound\": $bound,/; /\"certified\"/d" here.json >kept.json
    sed '/"certified"/d' there.json >there_kept.json
    mv kept.json here.json
    mv there_kept.json there.json
    same "$*"
}
weaker wide.npz --policy uniform --radius 0.1 --domain simplex
weaker long.npz --policy optimal --radius 0.05 --domain simplex
for norm in 1 inf; do
    compare wide.npz --policy uniform --radius 0.02 --domain simplex --norm $norm
    compare long.npz --policy uniform --radius 0.02 --domain simplex --norm $norm
done
compare sparse.npz --policy uniform --radius 0.05 --domain support
compare wide.npz --policy uniform --radius 0.1 --domain support
compare wide.npz --policy optimal --radius 0.03 --domain support
compare long.npz --policy uniform --radius 0.1 --domain support
for norm in 1 1.5 3 inf; do
    compare wide.npz --policy uniform --radius 0.02 --domain support --norm $norm
    compare long.npz --policy uniform --radius 0.02 --domain support --norm $norm
done
compare wide.npz --policy optimal --radius 0.02 --domain support --norm inf --set s
compare wide.npz --policy uniform --radius 0.02 --domain support --norm inf --set sa
for set in s sa; do
    for norm in 1 1.5 2 3; do
        compare wide.npz --policy uniform --radius 0.05 --domain support --norm $norm --set $set
    done
    compare long.npz --policy uniform --radius 0.1 --domain support --norm 2 --set $set
    compare wide.npz --policy optimal --radius 0.1 --domain support --norm 2 --set $set
done
compare large.npz --policy uniform --radius 0.01 --domain support --norm inf
compare river.npz --policy uniform --radius 0.0241 --domain simplex
compare dense.npz --policy uniform --radius 0.01 --domain free --certify strict

# The worst kernel: b and k, byte by byte apart from rounding, by the check that knows nothing of the device.
"$NADIR" evaluate large.npz --policy uniform --radius 0.01 --domain free --engine cuda --kernel worst.npz \
    --witness worst.json --quiet >/dev/null || fail "no kernel"
"$NADIR" verify large.npz --policy uniform --kernel worst.npz --witness worst.json --quiet >/dev/null ||
    fail "the kernel from the device is not accepted"

# Rectangular sets take a second matrix and the numbers of a kernel: where a smaller device has no room for them the answers
# are the same, until the model itself does not fit.
"$NADIR" evaluate wide.npz --policy uniform --radius 0.05 --domain support --norm inf --json --quiet >here.json
answered=0
for bytes in 90 60 50 44 40 36 33 30 27 24 20 8; do
    NADIR_DEVICE_MEMORY=${bytes}000000 "$NADIR" evaluate wide.npz --policy uniform --radius 0.05 --domain support --norm inf \
        --json --quiet --engine cuda >there.json 2>full.txt
    case $? in
    0)
        same "a device of $bytes million bytes"
        answered=$((answered + 1))
        ;;
    6) grep -q 'GiB of the device.s memory; .* GiB of .* GiB are left there' full.txt || fail "$(cat full.txt)" ;;
    *) fail "exit of a device of $bytes million bytes" ;;
    esac
done
[[ $answered -ge 2 ]] || fail "only $answered devices have answers"

# Too large for the device: nothing but a sentence with both sizes.
for bytes in 100000 650000; do
    NADIR_DEVICE_MEMORY=$bytes "$NADIR" evaluate dense.npz --policy uniform --radius 0.01 --domain free --engine cuda \
        --backend device-lu >/dev/null 2>full.txt
    [[ $? == 6 ]] || fail "exit of a device of $bytes bytes"
    grep -q 'GiB of the device.s memory; .* GiB of .* GiB are left there' full.txt || fail "$(cat full.txt)"
done

exit $((failures > 0))
