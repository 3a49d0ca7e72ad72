#!/usr/bin/env bash
# Rounds of training on verified answers to longer formulas and ones with more symbols.
#   bash examples/prop/self_train.sh [shipped|mini|medium] [DIR]
# goes on from the model in checkpoints, or from what prepare.sh and train.sh have left in DIR.
# scripts/self_training.sh says what ROUNDS, SIZE, UPDATES and others in the environment mean.
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
source scripts/self_training.sh
start prop "${1:-shipped}" "${@:2}"
most=30  # tokens of an answer
begin 35 10
labelled 7 --labels depth-first
grid --semantics prop --per-cell "$PER_CELL" --exclude "$data"/{train,valid,test}
self_training
