#!/usr/bin/env bash
# A unit test program, PROGRAM, with the device of the engine cuda in every context. Skipped, saying so, where
# there is no device.
set -u

# shellcheck source=tests/cuda/device.sh
. "$(dirname "$0")/device.sh"

# A device is slow at many small models: the shorter form of the tests that valgrind gets.
NADIR_TEST_ENGINE=cuda NADIR_VALGRIND=1 "$PROGRAM"
