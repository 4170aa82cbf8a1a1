#!/usr/bin/env bash
# Ctrl-C in the midst of a long evaluation on the device: exit 7 within a second. Skipped, saying so, where there is no
# device.
set -u

# shellcheck source=tests/cuda/device.sh
. "$(dirname "$0")/device.sh"

# A chain of three million states, far from whose ends news travels slowly: an evaluation takes many seconds.
"$NADIR" generate riverswim chain.npz --states 3000000 --discount 0.999995 --quiet >/dev/null || exit 1

for signal in INT TERM; do
    "$NADIR" evaluate chain.npz --policy uniform --radius 0.0000001 --domain free --engine cuda --backend device-krylov \
        --quiet >/dev/null 2>said.txt &
    command=$!
    sleep 2
    begun=$(date +%s%N)
    kill -s $signal $command
    wait $command
    status=$?
    took=$((($(date +%s%N) - begun) / 1000000))
    if [[ $status == 0 && $took -le 1000 ]]; then
        echo "skipped: the evaluation was over before it could be interrupted"
        exit 77
    fi
    echo "exit $status, $took ms after SIG$signal: $(tail -n 1 said.txt)"
    if [[ $status != 7 || $took -gt 1000 ]]; then
        echo "FAILED: expected exit 7 within 1000 ms" >&2
        exit 1
    fi
done
