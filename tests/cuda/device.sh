# shellcheck shell=bash
# device.sh: ends a test with 77, skipped, where the engine cuda has no device. To be sourced; NADIR is the command.

"$NADIR" generate machine probe.npz --quiet >probe.txt 2>&1 || exit 1
"$NADIR" evaluate probe.npz --policy uniform --radius 0.01 --engine cuda >probe.txt 2>&1
case $? in
0) ;;
*)
    if grep -q 'has no device to work on\|cannot be loaded' probe.txt; then
        echo "skipped: $(tail -n 1 probe.txt)"
        exit 77
    fi
    cat probe.txt >&2
    exit 1
    ;;
esac
