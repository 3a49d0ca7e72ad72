#!/usr/bin/env bash
# Answers to the test sets by beam search, each judged by Spot as it is found.
#   bash examples/ltl/generate.sh [mini|medium|paper] [DIR]
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
start ltl "$@"
needs "$data/test.tgt" prepare
needs "$out/model/checkpoint_last.pt" train
step "answers, judged by Spot"
for prefix in "$data"/{test,more}*.tgt; do
    name=$(basename "$prefix" .tgt)
    answer "$name" --scoring semantic --semantics ltl --beam 3 --batch-size 100 \
        --max-len-b 100
done
