#!/usr/bin/env bash
# Data: random formulas with a satisfying partial assignment each.
#   bash examples/prop/prepare.sh [mini|medium|paper] [DIR]
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
start prop "$@"
formulas() { pairs "$1" generate_prop.py "${@:2}"; }

if [ "$scale" = mini ]; then
    step "data: formulas of at most 6 tokens over the symbols a to e"
    formulas train --symbols 5 --max-length 6 --size 12000 --seed 1
    test_sets 5 6
elif [ "$scale" = medium ]; then
    step "data: formulas of at most 10 tokens over the symbols a to e, and a heat map"
    formulas short --symbols 5 --max-length 7 --size 20000 --seed 1
    formulas long --symbols 5 --max-length 10 --size 200000 --seed 5
    joined train short long
    test_sets 7 10
    grid --semantics prop --max-symbols 8 --max-length 15 --per-cell 30
else
    step "data: formulas of at most 35 tokens, and a heat map"
    formulas train --symbols 5 --size 800000
    formulas valid --symbols 5 --size 100000 --seed 44 --exclude "$data/train"
    formulas test --symbols 5 --size 100000 --seed 45 --exclude "$data/train" "$data/valid"
    formulas unseen --symbols 10 --size 100000 --seed 46 --exclude "$data/train"
    grid --semantics prop
fi
binarise "$out/bin" --trainpref "$data/train" --validpref "$data/valid"
if [ "$scale" = medium ]; then
    binarise "$out/bin.short" --trainpref "$data/short" --validpref "$data/valid" \
        --srcdict "$out/bin/dict.src.txt"
fi
