#!/usr/bin/env bash
# Rounds of training on verified answers to longer formulas and ones with more symbols.
#   bash examples/ltl/self_train.sh [shipped|mini|medium] [DIR]
# goes on from the model in checkpoints, or from what prepare.sh and train.sh have left in DIR.
# scripts/self_training.sh says what ROUNDS, SIZE, UPDATES and others in the environment mean.
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
source scripts/self_training.sh
start ltl "${1:-shipped}" "${@:2}"
most=100  # tokens of an answer
case $scale in
    mini) base=$out/model/checkpoint_last.pt longest=12 ;;
    shipped) base=checkpoints/ltl/model.pt longest=35 ;;
    *) base=$out/model/checkpoint_last.pt longest=35 ;;
esac
needs "$base" train
formulas() { pairs "$1" ltl --symbols 5 --max-length "$longest" --labels spot "${@:2}"; }

step "data: formulas of at most $longest tokens over the symbols a to e, and a heat map"
formulas train --size "${LABELLED:-100000}" --seed 1
formulas valid --size 500 --seed 2 --exclude "$data/train"
formulas test --min-length 8 --size 1000 --seed 3 --exclude "$data"/{train,valid}
grid --semantics ltl --max-length 40 --per-cell "${PER_CELL:-5}" \
    --exclude "$data"/{train,valid,test}
self_training "$base"
