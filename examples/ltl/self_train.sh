#!/usr/bin/env bash
# Rounds of training on verified answers to longer formulas and ones with more symbols.
#   bash examples/ltl/self_train.sh [shipped|mini|medium] [DIR]
# goes on from the model in checkpoints, or from what prepare.sh and train.sh have left in DIR.
# scripts/self_training.sh says what ROUNDS, SIZE, UPDATES and others in the environment mean.
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
source scripts/self_training.sh
start ltl "${1:-shipped}" "${@:2}"
most=100  # tokens of an answer
begin 35 12
labelled 8 --labels depth-first
grid --semantics ltl --max-length 40 --per-cell "$PER_CELL" \
    --exclude "$data"/{train,valid,test}
self_training
