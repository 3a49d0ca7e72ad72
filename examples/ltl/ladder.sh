#!/usr/bin/env bash
# The temporal table of examples/LEARNING.md, about an hour on 2 cores.
#   bash examples/ltl/ladder.sh [DIR]      results go to DIR (outputs/ltl-ladder)
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
start ltl ladder "${1:-outputs/ltl-ladder}"
formulas() { pairs "$1" ltl --symbols 5 --labels "$labels" "${@:2}"; }

step "data: formulas of at most 14 tokens over the symbols a to e, with two kinds of labels"
for labels in spot depth-first; do
    formulas "train.$labels" --max-length 14 --size 60000 --seed 1
    formulas "valid.$labels" --min-length 8 --max-length 14 --size 500 --seed 2 \
        --exclude "$data/train.$labels"
    binarise "$out/bin.$labels" --trainpref "$data/train.$labels" --validpref "$data/valid.$labels"
done
sit overlap "$data"/valid.{spot,depth-first} --with "$data"/train.{spot,depth-first} --expect-none
step "training and measuring"
sit experiments examples/ltl/ladder.yaml "$out" --scale ladder --jobs 2
