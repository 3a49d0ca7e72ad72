#!/usr/bin/env bash
# The paper's figures of a trained model: its heat map, the heat maps of its top-N accuracy, and
# the cost of an answer by the number of symbols.
#   bash examples/ltl/figures.sh [mini|medium|paper] [DIR]      figures go to DIR/figures
#   MODEL=checkpoints/ltl/model.pt bash examples/ltl/figures.sh ...      those of another model
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
start ltl "$@"
case $scale in
    mini)
        needs "$data/train.tgt" prepare
        # The data of this scale have no grid, which the quickstart does not need.
        grid --semantics ltl --max-symbols 7 --max-length 16 --per-cell 10 --exclude "$data/train"
        figures 128 --training-length 12
        ;;
    medium) figures 128 ;;
    *) figures 128 ;;
esac
