#!/usr/bin/env bash
# Data: random formulas with a satisfying trace each, by Spot.
#   bash examples/ltl/prepare.sh [mini|medium|paper] [DIR]
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
start ltl "$@"
formulas() { pairs "$1" generate_ltl.py "${@:2}"; }

if [ "$scale" = mini ]; then
    step "data: formulas of at most 12 tokens over the symbols a to e"
    formulas train --symbols 5 --max-length 12 --size 30000 --seed 1
    test_sets 8 12
elif [ "$scale" = medium ]; then
    step "data: formulas of at most 20 tokens over the symbols a to e, and a heat map"
    formulas short --symbols 5 --max-length 12 --size 30000 --seed 1
    formulas long --symbols 5 --max-length 20 --size 150000 --seed 5
    joined train short long
    test_sets 8 20
    grid --semantics ltl --max-symbols 10 --max-length 30 --per-cell 10
else
    step "data: formulas of at most 35 tokens, more of them with few symbols, and a heat map"
    formulas main --symbols 5 --size 800000 --resume
    formulas many --symbols 10 --size 800000 --seed 43 --resume
    [ -f "$data/train.tgt" ] ||
        python scripts/make_condition.py supplemented "$data/main" "$data/many" "$data/train"
    formulas valid --symbols 5 --size 100000 --seed 44 --resume --exclude "$data/train"
    formulas test --symbols 5 --size 100000 --seed 45 --resume --exclude "$data/train" "$data/valid"
    formulas unseen --symbols 10 --size 100000 --seed 46 --resume --exclude "$data/train"
    grid --semantics ltl
fi
binarise "$out/bin" --trainpref "$data/train" --validpref "$data/valid"
