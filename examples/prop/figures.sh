#!/usr/bin/env bash
# The paper's figures of a trained model: its heat map, the heat maps of its top-N accuracy, and
# the cost of an answer by the number of symbols.
#   bash examples/prop/figures.sh [mini|medium|paper] [DIR]      figures go to DIR/figures
#   MODEL=checkpoints/prop/model.pt bash examples/prop/figures.sh ...      those of another model
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
start prop "$@"
case $scale in
    mini)
        needs "$data/train.tgt" prepare
        # The data of this scale have no grid, which the quickstart does not need.
        grid --semantics prop --max-symbols 6 --max-length 14 --per-cell 10 --exclude "$data/train"
        figures 22 --training-symbols 3 --training-length 10
        ;;
    medium) figures 22 ;;
    *) figures 22 ;;
esac
