#!/usr/bin/env bash
# The table of what generate.sh answered.
#   bash examples/binding/evaluate.sh [mini] [DIR]
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
start binding "$@"
needs "$out/both.txt" generate
sit evaluate generated "$out" --semantics alpha --symbols "[a-ei-z][0-9]*" test='as in training' \
    variables='5 to 10 variables' binders='4 to 6 binders' both='both'
sit overlap "$data"/{test,variables,binders,both} --with "$data/train" \
    --symbols '[a-ei-z][0-9]*' --expect-none
