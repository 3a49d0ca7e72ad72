#!/usr/bin/env bash
# Data, a training of four minutes on two cores, and the table of README.md; goes on if interrupted.
#   bash examples/entities/run.sh [DIR]      results go to DIR (outputs/entities)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." && bash scripts/setup.sh
export PATH="$PWD/.venv/bin:$PATH" PYTHONWARNINGS=ignore
out=${1:-outputs/entities} data=${1:-outputs/entities}/data
sentences() { sit generate entities "$data/$1.text" --seed "$2" --symbols "$3" "${@:4}"; }
if ! [ -d "$out/bin" ]; then
    rm -rf "$out/new"
    sentences train 1 '<ent0>..<ent3>' --size 8000
    sentences valid 2 '<ent0>..<ent3>' --size 500 --exclude "$data/train.text"
    sentences test 3 '<ent0>..<ent3>' --size 500 --exclude "$data/train.text"
    sentences unseen 4 '<ent10>..<ent29>' --distinct-symbols 1-4 --size 500 --exclude "$data/train.text"
    sentences more 5 '<ent10>..<ent29>' --distinct-symbols 5-6 --size 500 --exclude "$data/train.text"
    sit overlap "$data"/{test,unseen,more}.text --with "$data/train.text" --symbols '<ent[0-9]+>' --expect-none
    sit sentencepiece "$data"/train.text.{src,tgt} --model-prefix "$data/spm" --vocab-size 120 --symbols '<ent0>..<ent99>'
    for file in {train,valid,test,unseen,more}.{src,tgt}; do sit sentencepiece --encode "$data/spm.model" "$data/${file/./.text.}" "$data/$file"; done
    paste "$data"/train.{src,tgt} | awk -F '\t' '{ n = $2 ~ /^▁(before|cause|while) / ? 1 : 50; while (n--) print }' >"$data/weighted"
    for side in "1 src" "2 tgt"; do cut -f "${side% *}" "$data/weighted" >"$data/weighted.${side#* }"; done
    fairseq-preprocess -s src -t tgt --joined-dictionary --trainpref "$data/weighted" \
        --validpref "$data/valid" --destdir "$out/new"
    mv "$out/new" "$out/bin"
fi
sit experiments examples/entities/results.yaml "$out"
