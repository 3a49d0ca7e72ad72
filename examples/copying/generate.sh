#!/usr/bin/env bash
# Copies of the test strings by greedy search, as in the paper, compared with the strings.
#   bash examples/copying/generate.sh [mini|paper] [DIR]
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
start copying "$@"
needs "$data/test.tgt" prepare
needs "$out/model/checkpoint_last.pt" train
step "copies of the test strings"
for prefix in "$data"/{test,more,unseen,long}*.tgt; do
    [ -f "$prefix" ] || continue  # the paper's scale has no long strings, but a grid
    name=$(basename "$prefix" .tgt)
    answer "$name" --scoring semantic --semantics copy --beam 1 --batch-size 100 \
        --max-len-a 2 --max-len-b 0
done
