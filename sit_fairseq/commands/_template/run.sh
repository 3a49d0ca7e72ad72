#!/usr/bin/env bash
# Makes data, trains a model and prints a table of its answers to more facts than it was trained on.
#   bash run.sh [DIR]      writes to DIR (default: out); continues a training that was interrupted
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
out=${1:-out} domain=domain:DOMAIN
if ! [ -d "$out/bin" ]; then
    sit generate $domain "$out/train" --facts 1-4 --size 20000 --seed 1
    sit generate $domain "$out/valid" --facts 1-4 --size 200 --seed 2 --exclude "$out/train"
    sit generate $domain "$out/more" --facts 5-6 --size 500 --seed 3 --exclude "$out/train"
    rm -rf "$out/new"
    fairseq-preprocess -s src -t tgt --joined-dictionary --trainpref "$out/train" \
        --validpref "$out/valid" --destdir "$out/new"
    mv "$out/new" "$out/bin"
fi
fairseq-train "$out/bin" --user-dir "$(sit --user-dir)" --task stream_translation --domain $domain \
    --symbols "$(python -c 'from domain import DOMAIN; print(DOMAIN.symbols)')" \
    --arch symbol_invariant_transformer --encoder-embed-dim 64 --encoder-ffn-embed-dim 256 \
    --encoder-layers 2 --encoder-attention-heads 4 --encoder-positions rope --dropout 0 \
    --criterion adacos --min-scale 10 --optimizer muon --lr 0.005 --clip-norm 1 \
    --lr-scheduler cosine --warmup-updates 100 --batch-size 32 --max-update 800 \
    --no-epoch-checkpoints --save-dir "$out/model"
sit evaluate $domain "$out/more" --path "$out/model/checkpoint_last.pt" --constrained $domain \
    --max-len 2,20 --result "$out/more.json"
