#!/usr/bin/env bash
# The table of what generate.sh answered.
#   bash examples/copying/evaluate.sh [mini] [DIR]
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
start copying "$@"
needs "$out/test.txt" generate
sit evaluate generated "$out" --semantics copy test='8 training symbols' \
    more='9 to 16 different symbols' unseen='16 symbols never seen' \
    long='these, twice the length'
sit overlap "$data"/{test,more,unseen,long} --with "$data/train" --symbols '[a-z]' --expect-none
