#!/usr/bin/env bash
# A-normal forms of the test terms, judged up to the names of binders.
#   bash examples/binding/generate.sh [mini] [DIR]
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
start binding "$@"
needs "$data/both.tgt" prepare
needs "$out/model/checkpoint_last.pt" train
step "A-normal forms of the test terms"
for name in test variables binders both; do
    answer "$name" --scoring semantic --semantics alpha --beam 3 --batch-size 50 --max-len-a 2 \
        --max-len-b 10
done
step "another name for each binder"
echo 'f ( g ( a , b ) , h ( a ) )' |
    fairseq-interactive "$out/bin" "${plug_in[@]}" --path "$out/model/checkpoint_last.pt" --beam 3 \
        --fresh-names x,y,z,u,v,w 2>"$out/interactive.log" |
    grep '^[SD]-' || { cat "$out/interactive.log" >&2; exit 1; }
