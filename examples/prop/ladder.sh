#!/usr/bin/env bash
# The propositional tables of examples/LEARNING.md, about two and a half hours on 2 cores.
#   bash examples/prop/ladder.sh [DIR]      results go to DIR (outputs/prop-ladder)
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
start prop ladder "${1:-outputs/prop-ladder}"
formulas() { pairs "$1" prop --symbols 5 --labels "$labels" "${@:2}"; }

step "data: formulas of at most 10 tokens over the symbols a to e, with two kinds of labels"
for labels in smallest depth-first; do
    formulas "seven.$labels" --max-length 7 --size 20000 --seed 1
    formulas "ten.$labels" --max-length 10 --size 200000 --seed 2 --exclude "$data/seven.$labels"
    joined "train.$labels" "seven.$labels" "ten.$labels"
    formulas "valid.$labels" --min-length 7 --max-length 10 --size 1000 --seed 3 \
        --exclude "$data/train.$labels"
    binarise "$out/bin.$labels" --trainpref "$data/train.$labels" --validpref "$data/valid.$labels"
done
sit overlap "$data"/valid.{smallest,depth-first} --with "$data"/train.{smallest,depth-first} --expect-none
step "training and measuring"
for table in ladder variants; do
    sit experiments "examples/prop/$table.yaml" "$out" --scale ladder --jobs 2
done
