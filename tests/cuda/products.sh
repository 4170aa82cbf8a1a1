#!/usr/bin/env bash
# Sparse products on the device in each of their ways, PROGRAM: rows one by one, 32 of them together, and by blocks of
# columns, at last on a device in which blocks have to make room. Skipped, saying so, where there is no device.
set -u

# shellcheck source=tests/cuda/device.sh
. "$(dirname "$0")/device.sh"

failures=0
for setting in NADIR_DEVICE_BLOCK= NADIR_DEVICE_BLOCK=100000 NADIR_DEVICE_BLOCK=15000 NADIR_DEVICE_BLOCK=700 \
    "NADIR_DEVICE_BLOCK=700 NADIR_DEVICE_MEMORY=160000000"; do
    echo "with ${setting:-nothing}"
    # shellcheck disable=SC2086 # words
    env $setting NADIR_TEST_ENGINE=cuda "$PROGRAM" || failures=$((failures + 1))
done
exit $((failures > 0))
