#!/usr/bin/env bash
# Data, 24 trainings and the table of README.md; goes on if interrupted.
#   bash examples/lang2ltl/run.sh LANG2LTL [DIR]      results go to DIR (outputs/lang2ltl)
set -euo pipefail
lang2ltl=$(realpath "${1:?the folder of LANG2LTL}") out=${2:+$(realpath -m "$2")}
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
bash scripts/setup.sh
export PATH="$PWD/.venv/bin:$PATH" PYTHONWARNINGS=ignore
out=${out:-outputs/lang2ltl}
if ! [ -d "$out/data" ]; then
    rm -rf "$out/new"
    python -m examples.lang2ltl.pairs "$lang2ltl" "$out/new"
    for split in "$out/new"/*; do
        fairseq-preprocess -s src -t tgt --joined-dictionary --trainpref "$split/train" \
            --validpref "$split/test" --destdir "$split"
    done
    mv "$out/new" "$out/data"
fi
python examples/paper/run.py examples/lang2ltl/results.yaml --out "$out"
