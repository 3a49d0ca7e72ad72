#!/usr/bin/env bash
# fairseq's own transformer on the same sentences, converted: it then understands entities
# that it has never seen, and more of them, without any training. After prepare.sh.
#   bash examples/entities/convert.sh [mini] [DIR]
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
start entities "$@"
step "training fairseq's transformer"
[ -f "$out/vanilla/finished" ] || {
    fairseq-train "$out/bin" --task translation --arch transformer --share-all-embeddings \
        --encoder-embed-dim 64 --encoder-ffn-embed-dim 256 --encoder-layers 2 \
        --encoder-attention-heads 4 --decoder-layers 2 --decoder-attention-heads 4 --dropout 0 \
        --optimizer adam --adam-betas '(0.9, 0.95)' --clip-norm 1.0 --lr 3e-3 \
        --lr-scheduler cosine --warmup-updates 200 --max-update 2000 --batch-size 32 \
        --criterion cross_entropy --num-workers 1 --disable-validation --no-epoch-checkpoints \
        --log-interval 50 --save-dir "$out/vanilla"
    touch "$out/vanilla/finished"
}
step "conversion"
[ -f "$out/converted.pt" ] ||
    sit convert "$out/vanilla/checkpoint_last.pt" "$out/converted.pt" \
        --symbols '<ent[0-9]+>' --actual '<ent0>' --placeholder '<ent1>' --verify
step "meanings of the test sentences, before and after the conversion"
limits=(--max-len-a 2 --max-len-b 20)
binarise "$out/bin.vanilla" --srcdict "$out/bin/dict.src.txt" --trainpref "$data/test" \
    --testpref "$data/test"
[ -f "$out/vanilla.txt" ] ||
    fairseq-generate "$out/bin.vanilla" --user-dir sit_fairseq --task translation \
        --path "$out/vanilla/checkpoint_last.pt" --beam 3 "${limits[@]}" \
        --required-batch-size-multiple 1 --num-workers 0 >"$out/vanilla.txt" 2>"$out/vanilla.log" ||
    { cat "$out/vanilla.log" >&2; rm "$out/vanilla.txt"; exit 1; }
sit evaluate correct "$data/test" --semantics exact --generated "$out/vanilla.txt" \
    --symbols '<ent[0-9]+>' --result "$out/vanilla.json"
for name in test unseen more; do
    sit evaluate correct "$data/$name" --semantics exact --path "$out/converted.pt" "${limits[@]}" \
        --result "$out/converted.$name.json"
done
