#!/usr/bin/env bash
# Data, eighty trainings and the table of README.md; goes on if interrupted.
#   bash examples/scan/run.sh SCAN [DIR]      SCAN has the files of the task; results go to DIR (outputs/scan)
set -euo pipefail
scan=$(realpath "${1:?the folder of SCAN}") out=${2:+$(realpath -m "$2")}
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
bash scripts/setup.sh
export PATH="$PWD/.venv/bin:$PATH" PYTHONWARNINGS=ignore
out=${out:-outputs/scan}
if ! [ -d "$out/data" ]; then
    rm -rf "$out/new"
    python -m examples.scan.pairs "$scan" "$out/new"
    for split in "$out/new"/*; do
        fairseq-preprocess -s src -t tgt --joined-dictionary --trainpref "$split/train" \
            --validpref "$split/valid" --destdir "$split"
    done
    mv "$out/new" "$out/data"
fi
python examples/paper/run.py examples/scan/results.yaml --out "$out"
