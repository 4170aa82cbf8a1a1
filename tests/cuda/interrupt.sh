#!/usr/bin/env bash
# Ctrl-C in the midst of a long solve on the device: exit 7 within a second. Skipped, saying so, where there is no
# device.
set -u

# shellcheck source=tests/cuda/device.sh
. "$(dirname "$0")/device.sh"

# A chain of three million states that forgets nothing: one solve takes many thousands of steps.
"$NADIR" generate riverswim chain.npz --states 3000000 --discount 0.9999999 --quiet >/dev/null || exit 1

for method in INT TERM; do
    "$NADIR" evaluate chain.npz --policy uniform --radius 0.0000001 --domain free --engine cuda --backend device-krylov \
        --quiet >/dev/null 2>said.txt &
    command=$!
    sleep 3
    if ! kill -s $method $command; then
        cat said.txt >&2
        echo "FAILED: the solve was too short to be interrupted" >&2
        exit 1
    fi
    begun=$(date +%s%N)
    wait $command
    status=$?
    took=$((($(date +%s%N) - begun) / 1000000))
    if [[ $status != 7 || $took -gt 1000 ]]; then
        cat said.txt >&2
        echo "FAILED: exit $status, $took ms after SIG$method; expected 7 within 1000 ms" >&2
        exit 1
    fi
done
