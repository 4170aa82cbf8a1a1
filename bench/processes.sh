#!/bin/bash
# processes.sh: how much faster two processes are than one, on the garnet of docs/scaling.md.
#
#     bench/processes.sh [REPEATS [STATES [DOMAIN]]]
#
# Runs on one and two processes take turns, so that whatever else goes on in the machine hits both, and the smallest of each
# number counts. "Work" is the processor time of a process less what it spent waiting for others, which on an idle machine is the
# difference between the clock and work. The bare products before them are what the machine can do. Needs `make`, `make bench`
# or NADIR_BENCH=ON, and mpirun.
set -euo pipefail
repeats=${1:-3}
states=${2:-1000000}
domain=${3:-free}
build=$(cd "$(dirname "$0")/.." && pwd)/build
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 NADIR_ENGINES=$build NADIR_ENGINE_COUNTS=1

cd "$folder"
"$build/nadir" generate garnet garnet.npz --states "$states" --actions 4 --branch 5 --discount 0.95 --quiet
"$build/bench/bench_processes"
for ((i = 0; i < repeats; i++)); do
    for n in 1 2; do
        mpirun --bind-to none -n $n "$build/nadir" evaluate garnet.npz --policy uniform --radius 0.05 --domain "$domain" \
            --engine petsc --threads 1 --json >answer.txt 2>counts.txt || {
            cat counts.txt >&2
            exit 1
        }
        # The slowest process counts; load, nominal, robust, certify and total are of the clock.
        awk -v n=$n '
            FILENAME == "counts.txt" && / of processor time/ {
                for (i = 1; i <= NF; i++) {
                    if ($i == "waited") { waited = $(i + 1) > waited ? $(i + 1) : waited }
                    if ($i == "of" && $(i + 1) == "processor") { work = $(i - 2) > work ? $(i - 2) : work }
                }
            }
            /"(load|nominal|robust|certify|total)":/ { gsub(/[",:]/, ""); seconds[$1] = $2 }
            END {
                print n, seconds["load"], seconds["nominal"], seconds["robust"], seconds["certify"], seconds["total"], work, waited
            }' counts.txt answer.txt >>runs.txt
    done
done
awk '
    BEGIN {
        split("load nominal robust certify total work waited", names, " ")
    }
    {
        for (i = 2; i <= 8; i++) {
            if (!(($1, i) in least) || $i < least[$1, i]) { least[$1, i] = $i }
        }
    }
    END {
        print "\nAn evaluation, seconds\n\n| part | 1 process | 2 processes | ratio |\n|---|---:|---:|---:|"
        for (i = 2; i <= 8; i++) {
            printf "| %s | %.2f | %.2f | %s |\n", names[i - 1], least[1, i], least[2, i], i == 8 ? "" : sprintf("%.2f", least[1, i] / least[2, i])
        }
    }' runs.txt
