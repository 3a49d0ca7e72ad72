#!/usr/bin/env bash
# The table of what generate.sh answered.
#   bash examples/ltl/evaluate.sh [mini|medium|paper] [DIR]
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
start ltl "$@"
needs "$out/test.txt" generate
sit evaluate generated "$out" --semantics ltl \
    test='same symbols' more='more symbols'
exact_means
sit overlap "$data"/{test,more} --with "$data/train" --expect-none
