#!/usr/bin/env bash
# fairseq's own transformer on the same sentences, converted: it then understands entities
# that it has never seen. After prepare.sh.
#   bash examples/entities/convert.sh [mini] [DIR]
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
start entities "$@"
step "training fairseq's transformer"
[ -f "$out/vanilla/finished" ] || {
    fairseq-train "$out/bin" --task translation --arch transformer --share-all-embeddings \
        --encoder-embed-dim 64 --encoder-ffn-embed-dim 256 --encoder-layers 2 \
        --encoder-attention-heads 4 --decoder-layers 2 --decoder-attention-heads 4 --dropout 0 \
        --optimizer adam --adam-betas '(0.9, 0.95)' --clip-norm 1.0 --lr 3e-3 \
        --lr-scheduler cosine --warmup-updates 200 --max-update 800 --batch-size 32 \
        --criterion cross_entropy --num-workers 1 --disable-validation --no-epoch-checkpoints \
        --log-interval 50 --save-dir "$out/vanilla"
    touch "$out/vanilla/finished"
}
step "conversion"
[ -f "$out/converted.pt" ] ||
    sit convert "$out/vanilla/checkpoint_last.pt" "$out/converted.pt" \
        --symbols '<ent[0-9]+>' --actual '<ent0>' --placeholder '<ent1>' --verify
echo '<ent77> gave <ent3> to <ent41>' |
    fairseq-interactive "$out/bin" "${plug_in[@]}" --path "$out/converted.pt" --beam 3 \
        --bpe sentencepiece --sentencepiece-model "$data/spm.model" 2>"$out/interactive.log" |
    grep '^[SD]-' || { cat "$out/interactive.log" >&2; exit 1; }
