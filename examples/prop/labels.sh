#!/usr/bin/env bash
# What the labels are worth, those of the paper among them: the table of labels in
# examples/prop/README.md, about a quarter of an hour on 2 cores.
#   bash examples/prop/labels.sh [DIR]      results go to DIR (outputs/prop-labels)
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
start prop mini "${1:-outputs/prop-labels}"
formulas() { pairs "$1" prop --symbols 3 --max-length 10 --labels "$kind" "${@:2}"; }

step "data: 20,000 formulas of at most 10 tokens over the symbols a to c, with three kinds of labels"
for kind in smallest depth-first aiger; do
    formulas "train.$kind" --size 20000 --seed 1
    formulas "valid.$kind" --min-length 7 --size 1000 --seed 3 --exclude "$data/train.$kind"
    binarise "$out/bin.$kind" --trainpref "$data/train.$kind" --validpref "$data/valid.$kind"
done
step "training and measuring"
sit experiments examples/prop/labels.yaml "$out" --scale mini
sit overlap "$data"/valid.{smallest,depth-first,aiger} --with "$data/train.smallest" --expect-none
