#!/usr/bin/env bash
# Data, a training of four minutes on two cores, and the table of README.md; goes on if interrupted.
#   bash examples/entities/run.sh [DIR]      results go to DIR (outputs/entities)
set -euo pipefail
out=${1:+$(realpath -m "$1")}
cd "$(dirname "${BASH_SOURCE[0]}")/../.." && bash scripts/setup.sh
export PATH="$PWD/.venv/bin:$PATH" PYTHONWARNINGS=ignore
out=${out:-outputs/entities}; data=$out/data
if ! [ -d "$out/bin" ]; then
    rm -rf "$out/new"
    python -m examples.entities.sentences "$data/text"
    sit overlap "$data"/text/{test,unseen,more} --with "$data/text/train" --symbols '<ent[0-9]+>' --expect-none
    python -m examples.entities.pieces "$data"
    paste "$data"/train.{src,tgt} | awk -F '\t' '{ n = $2 ~ /^▁(before|cause|while) / ? 1 : 50; while (n--) print }' >"$data/weighted"
    for side in "1 src" "2 tgt"; do cut -f "${side% *}" "$data/weighted" >"$data/weighted.${side#* }"; done
    fairseq-preprocess -s src -t tgt --joined-dictionary --trainpref "$data/weighted" \
        --validpref "$data/valid" --destdir "$out/new"
    mv "$out/new" "$out/bin"
fi
python examples/paper/run.py examples/entities/results.yaml --out "$out"
