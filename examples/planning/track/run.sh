#!/usr/bin/env bash
# A model for each domain of the planning competition of 2023, learning track, and its tables; goes on if interrupted.
#   bash examples/planning/track/run.sh IPC2023 DIR ferry spanner      results go to DIR
# SETS="easy" leaves out medium, LAYERS=3 has fewer layers of the encoder.
# IPC2023 is a clone of github.com/ipc2023-learning/benchmarks. Training takes half an hour of a core for each domain.
set -euo pipefail
ipc=$(realpath "${1:?the folder of the problems}") out=$(realpath -m "${2:?the folder for models and results}")
: "${3:?a domain, such as ferry}"
cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && bash scripts/setup.sh
export PATH="$PWD/.venv/bin:$PATH" PYTHONWARNINGS=ignore
for domain in "${@:3}"; do
    sit train planning "$ipc/$domain/domain.pddl" "$ipc/$domain/training/easy" --out "$out/$domain" \
        --most-objects 16 ${LAYERS:+--layers "$LAYERS"}
    for set in ${SETS:-easy medium}; do
        seconds=60 ways=(greedy onward search random "goal count")
        [ "$set" = easy ] || seconds=300 ways=(onward search random "goal count")
        python -m examples.planning.tables "$out/$domain" --ipc "$ipc" --sets "${domain}_$set" --ways "${ways[@]}" \
            --seconds $seconds --out "$out/$domain/$set"
    done
done
