#!/usr/bin/env bash
# Data, trainings and the table of README.md; goes on if interrupted.
#   bash examples/code/run.sh [DIR]      results go to DIR (outputs/code)
set -euo pipefail
out=${1:+$(realpath -m "$1")}
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
bash scripts/setup.sh
export PATH="$PWD/.venv/bin:$PATH" PYTHONWARNINGS=ignore
out=${out:-outputs/code}
if ! [ -d "$out/exchanged" ]; then
    python -m examples.code.functions "$out/data"
    python -m examples.code.pieces "$out/data"
    for kind in symbols plain exchanged; do
        rm -rf "$out/new" "$out/$kind"
        fairseq-preprocess --only-source --srcdict "$out/data/$kind/dict.txt" \
            --trainpref "$out/data/$kind/train" --validpref "$out/data/$kind/valid" --destdir "$out/new"
        mv "$out/new" "$out/$kind"
    done
fi
python examples/paper/run.py examples/code/results.yaml --out "$out" --user-dir examples/code/copying
