# Robust returns of models of other projects, where a folder of them is at hand, against numbers known from elsewhere.
source "$(dirname "$0")/../support/cli.sh"
folder=${NADIR_FOREIGN_MODELS:-}
[[ -d $folder ]] || exit 77
memcheck && exit 77 # minutes, and nothing that smaller models do not show

# A number of stdout within a relative tolerance.
expect_near() {
    awk -v found="$(number "$1")" -v wanted="$2" -v tolerance="$3" \
        'BEGIN { d = found - wanted; w = wanted < 0 ? -wanted : wanted; exit !((d < 0 ? -d : d) <= tolerance * w) }' ||
        complain "expected \"$1\": $2, found $(number "$1")"
}

checked=0
# check FILE OPTIONS..., then lines on stdin: set domain norm radius value. Every radius of a rectangular set is the
# same; values of nonrect simplex and support are the best attained, known to 1e-7.
check() {
    local file=$1 set domain norm radius value tolerance
    shift
    [[ -f $folder/$file ]] || return 0
    while read -r set domain norm radius value; do
        tolerance=1e-9
        [[ $set == nonrect && $domain != free ]] && tolerance=1e-7
        run evaluate "$folder/$file" "$@" --policy uniform --set "$set" --domain "$domain" --norm "$norm" \
            --radius "$radius" --json --quiet
        expect_status 0
        expect_near robust_return "$value" "$tolerance"
        checked=$((checked + 1))
    done
}

# breakdown RADIUS FILE OPTIONS...: the smallest radius with a singular kernel, at norm 2; refused from there on.
breakdown() {
    local radius=$1 file=$2
    shift 2
    [[ -f $folder/$file ]] || return 0
    run evaluate "$folder/$file" "$@" --policy uniform --domain free --radius 0.001 --certify strict --json --quiet
    expect_near breakdown_radius "$radius" 1e-8
    run evaluate "$folder/$file" "$@" --policy uniform --domain free --radius 1 --json --quiet
    expect_status 4
    checked=$((checked + 1))
}

breakdown 0.24055156744 riverswim.csv --discount 0.95
# The value of sa, support, norm 2 is that of a robust Bellman iteration with every row problem solved exactly: rows of
# at most three successors. (Another number in circulation, 539.602507714, cannot be: the nominal kernel lies in the set
# and has the return 536.031320562.)
check riverswim.csv --discount 0.95 --frozen-rewards <<'END'
nonrect free 2 0.012 330.251815583
nonrect free 2 0.072 -936.296864937
nonrect free 2 0.19 -8838.49135455
nonrect free 1 0.012 460.260221961
nonrect free 1.5 0.012 389.456121564
nonrect free 3 0.012 240.03153888
sa free 1 0.003 472.072533484
s free 1 0.003 504.051927023
sa free 1.5 0.003 439.674802292
s free 1.5 0.003 475.33051773
sa free 2 0.003 423.193125613
s free 2 0.003 456.242667737
sa free 3 0.003 407.88389966
s free 3 0.003 434.320645188
sa free inf 0.003 372.5027464
s free inf 0.003 372.5027464
sa simplex 1 0.003 533.219817474
sa support 1 0.003 533.645988991
sa simplex 2 0.003 531.159422644
sa support 2 0.003 532.485273249
sa simplex inf 0.003 529.215293327
sa support inf 0.003 531.282158306
nonrect simplex 2 0.012 525.142961932
nonrect support 2 0.012 527.401239836
nonrect simplex 2 0.072 475.273748356
nonrect support 2 0.072 486.294040416
END
breakdown 0.594637000235 machine_replacement.csv --discount 0.9
check machine_replacement.csv --discount 0.9 --frozen-rewards <<'END'
nonrect free 2 0.03 -30.7729687263
nonrect free 2 0.18 -45.8093427735
nonrect free 2 0.48 -92.3591075741
nonrect free 1 0.03 -28.5813241462
nonrect free 1.5 0.03 -29.5302851551
nonrect free 3 0.03 -33.4591089584
sa free 1 0.0075 -28.8386541299
s free 1 0.0075 -28.3023376788
sa free 1.5 0.0075 -29.5353003971
s free 1.5 0.0075 -28.8805972621
sa free 2 0.0075 -30.1356875943
s free 2 0.0075 -29.4416283847
sa free 3 0.0075 -30.990376551
s free 3 0.0075 -30.3251937438
sa free inf 0.0075 -33.9527034488
s free inf 0.0075 -33.9527034488
sa simplex 1 0.0075 -28.7379477013
sa support 1 0.0075 -27.9932934679
sa simplex 2 0.0075 -29.4678248209
sa support 2 0.0075 -28.0987279675
sa simplex inf 0.0075 -30.8226482286
sa support inf 0.0075 -28.2221912082
nonrect simplex 2 0.03 -30.0995738974
nonrect support 2 0.03 -28.2041204271
nonrect simplex 2 0.18 -40.7665073606
nonrect support 2 0.18 -30.4630753699
END
breakdown 0.098560956237 pendulum_121_5.P.bin --rewards "$folder/pendulum_121_5.g.bin" --costs --discount 0.95
# Past the breakdown of the rectangular set, 0.3977 of this radius: D(e b) with signs e found by alternation in another
# program gives a kernel of the set for which I - gamma P is singular.
for set in s sa; do
    run evaluate "$folder/pendulum_121_5.P.bin" --rewards "$folder/pendulum_121_5.g.bin" --costs --discount 0.95 \
        --policy uniform --set $set --domain free --norm inf --radius 0.001225 --quiet
    expect_status 4
done
check pendulum_121_5.P.bin --rewards "$folder/pendulum_121_5.g.bin" --costs --discount 0.95 <<'END'
nonrect free 2 0.0049 -1887.84254601
nonrect free 2 0.03 -2174.6579513
nonrect free 2 0.079 -2947.59409357
nonrect free 1 0.0049 -1834.09240118
nonrect free 1.5 0.0049 -1842.8568557
nonrect free 3 0.0049 -2161.99557805
sa free 1 0.001225 -1879.05167239
s free 1 0.001225 -1842.63127815
sa free 1.5 0.001225 -1988.66315586
s free 1.5 0.001225 -1886.58227916
sa free 2 0.001225 -2152.4227337
s free 2 0.001225 -1976.14105415
sa free 3 0.001225 -2501.5116336
s free 3 0.001225 -2224.16644287
sa free inf 0.0004 -2816.69184105
s free inf 0.0004 -2816.69184105
sa simplex 1 0.001225 -1863.26640437
sa support 1 0.001225 -1841.80182647
sa simplex 2 0.001225 -1918.59779142
sa support 2 0.001225 -1847.66199126
sa simplex inf 0.001225 -2003.61567613
sa support inf 0.001225 -1860.58364929
nonrect simplex 2 0.0049 -1850.35136655
nonrect support 2 0.0049 -1836.34823447
nonrect simplex 2 0.03 -1932.62771321
nonrect support 2 0.03 -1850.8654553
END
# craam2: rewards are paid on landing.
if [[ -f $folder/machine_replacement.csv ]]; then
    run optimize "$folder/machine_replacement.csv" --discount 0.9 --set sa --domain support --norm 1 --radius 0.2 \
        --out policy.csv --json --quiet
    expect_status 0
    expect_near robust_return -15.187529526078 1e-10
    checked=$((checked + 1))
fi
((checked > 0)) || exit 77
finish
