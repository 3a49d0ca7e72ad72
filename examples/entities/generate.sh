#!/usr/bin/env bash
# Meanings of the test sentences, as plain text.
#   bash examples/entities/generate.sh [mini] [DIR]
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
start entities "$@"
needs "$data/test.tgt" prepare
needs "$out/model/checkpoint_last.pt" train
step "meanings of the test sentences"
for name in test unseen more; do
    answer "$name" --scoring semantic --semantics exact --beam 3 --batch-size 50 --max-len-a 2 --max-len-b 20 \
        --bpe sentencepiece --sentencepiece-model "$data/spm.model"
done
echo '<ent77> gave <ent3> to <ent41> after <ent3> slept' |
    fairseq-interactive "$out/bin" "${plug_in[@]}" --path "$out/model/checkpoint_last.pt" --beam 3 \
        --bpe sentencepiece --sentencepiece-model "$data/spm.model" 2>"$out/interactive.log" |
    grep '^[SD]-' || { cat "$out/interactive.log" >&2; exit 1; }
