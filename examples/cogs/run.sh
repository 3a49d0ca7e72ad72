#!/usr/bin/env bash
# Data, four trainings and the tables of README.md; goes on if interrupted.
#   bash examples/cogs/run.sh COGS [DIR]      COGS has the files of the task; results go to DIR (outputs/cogs)
set -euo pipefail
cogs=$(realpath "${1:?the folder of COGS}") out=${2:+$(realpath -m "$2")}
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
bash scripts/setup.sh
export PATH="$PWD/.venv/bin:$PATH" PYTHONWARNINGS=ignore
out=${out:-outputs/cogs}
if ! [ -d "$out/data" ]; then
    rm -rf "$out/new"
    python -m examples.cogs.pairs "$cogs" "$out/new"
    for folder in "$out/new"/*; do
        fairseq-preprocess -s src -t tgt --joined-dictionary --trainpref "$folder/train" \
            --validpref "$folder/dev" --destdir "$folder"
    done
    mv "$out/new" "$out/data"
fi
python examples/paper/run.py examples/cogs/results.yaml --out "$out"
python -m examples.cogs.categories "$out" | tee "$out/categories.md"
