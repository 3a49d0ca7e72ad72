#!/usr/bin/env bash
# How many meanings are right, token by token.
#   bash examples/entities/evaluate.sh [mini] [DIR]
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
start entities "$@"
needs "$out/more.txt" generate
sit evaluate generated "$out" --semantics exact --symbols '<ent[0-9]+>' test='as in training' \
    unseen='names never seen' more='5 or 6 of these in each sentence'
sit overlap "$data"/{test,unseen,more}.text --with "$data/train.text" --symbols '<ent[0-9]+>' \
    --expect-none
