#!/usr/bin/env bash
# The table of what generate.sh answered.
#   bash examples/prop/evaluate.sh [mini|medium|paper] [DIR]
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
start prop "$@"
needs "$out/test.txt" generate
sit evaluate generated "$out" --semantics prop \
    test='same symbols' more='more symbols'
exact_means
sit overlap "$data"/{test,more} --with "$data/train" --expect-none
