#!/usr/bin/env bash
# Answers to the test sets by beam search, each judged by a truth table as it is found.
#   bash examples/prop/generate.sh [mini|medium|paper] [DIR]
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
start prop "$@"
needs "$data/test.tgt" prepare
needs "$out/model/checkpoint_last.pt" train
longest=30
[ "$scale" != paper ] || longest=100
step "answers, judged by truth tables"
for prefix in "$data"/{test,more}*.tgt; do
    name=$(basename "$prefix" .tgt)
    answer "$name" --scoring semantic --semantics prop --beam 3 --batch-size 100 \
        --max-len-b "$longest"
done
