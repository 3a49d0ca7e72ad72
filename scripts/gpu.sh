#!/usr/bin/env bash
# Tests and measures on a GPU, in at most 8 minutes.
#   bash scripts/gpu.sh OUT        on the GPU; PYTHON=... names an interpreter that has the packages
#   bash scripts/gpu.sh OUT cpu    the same in a small form, to see that it runs
# Each part has a time limit, and leaves PART.log and PART.jsonl in OUT as it goes: a run that is cut
# keeps what it has. OUT/parts.txt says how each ended. Exit status 1 if a part failed.
set -euo pipefail
out=$(realpath -m "${1:?name a folder for the results}") device=${2:-cuda} failed=0
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if ! python=$(command -v "${PYTHON:-.venv/bin/python}"); then
    echo "gpu: there is no ${PYTHON:-.venv/bin/python}; run scripts/setup.sh, or set PYTHON" >&2
    exit 1
fi
mkdir -p "$out"
: >"$out/parts.txt"

part() {
    local name=$1 seconds=$2 left=$((480 - SECONDS)) status=0 started=$SECONDS
    shift 2
    [ "$seconds" -lt "$left" ] || seconds=$left
    if [ "$seconds" -gt 0 ]; then
        timeout -k 5 "$seconds" "$@" >"$out/$name.log" 2>&1 || status=$?
        echo "$name: status $status after $((SECONDS - started)) s" | tee -a "$out/parts.txt"
    else
        status=124
        echo "$name: no time was left" | tee -a "$out/parts.txt"
    fi
    [ "$status" = 0 ] || failed=1
}

# A GPU draws other random numbers than a CPU.
part tests 110 env TEST_DEVICE="$device" "$python" -m pytest -p no:cacheprovider \
    tests/device/test_{conversion,generation,training}.py -k "not (sampling or top or different_steps)"
for name in renamings:50 conversion:70 speed:130 recipes:120; do
    part "${name%:*}" "${name#*:}" "$python" -m scripts.gpu.parts "${name%:*}" "$out" --device "$device"
done
exit $failed
