#!/usr/bin/env bash
# Data, trainings of ten minutes each on two cores, the table of README.md; goes on if interrupted.
#   bash examples/binding/run.sh [DIR]      results go to DIR (outputs/binding)
set -euo pipefail
out=${1:+$(realpath -m "$1")}
cd "$(dirname "${BASH_SOURCE[0]}")/../.." && bash scripts/setup.sh
export PATH="$PWD/.venv/bin:$PATH" PYTHONWARNINGS=ignore
out=${out:-outputs/binding}; data=$out/data
if ! [ -d "$out/bin.control" ]; then
    rm -rf "$out/new" "$out"/bin.*
    python -m examples.binding.terms "$data"
    sit overlap "$data"/{test,variables,binders,both} --with "$data/train" --symbols '[a-ei-z]' --expect-none
    for name in train control; do
        fairseq-preprocess -s src -t tgt --joined-dictionary --trainpref "$data/$name" \
            --validpref "$data/valid" --destdir "$out/new"
        mv "$out/new" "$out/bin.$name"
    done
fi
python examples/paper/run.py examples/binding/results.yaml --out "$out"
