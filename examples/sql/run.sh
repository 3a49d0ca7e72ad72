#!/usr/bin/env bash
# Data, trainings and the table of README.md; goes on if interrupted.
#   bash examples/sql/run.sh [DIR]      results go to DIR (outputs/sql)
set -euo pipefail
out=${1:+$(realpath -m "$1")}
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
bash scripts/setup.sh
export PATH="$PWD/.venv/bin:$PATH" PYTHONWARNINGS=ignore
out=${out:-outputs/sql}
if ! [ -d "$out/bin" ]; then
    rm -rf "$out/new"
    python -m examples.sql.queries "$out/data"
    fairseq-preprocess -s src -t tgt --joined-dictionary --trainpref "$out/data/train" \
        --validpref "$out/data/valid" --destdir "$out/new"
    mv "$out/new" "$out/bin"
fi
python examples/paper/run.py examples/sql/results.yaml --out "$out"
