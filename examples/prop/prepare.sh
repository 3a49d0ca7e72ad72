#!/usr/bin/env bash
# Data: random formulas with a satisfying partial assignment each.
#   bash examples/prop/prepare.sh [mini|medium|paper] [DIR]
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
start prop "$@"
formulas() { pairs "$1" generate_prop.py "${@:2}"; }

if [ "$scale" = mini ]; then
    step "data: formulas of at most 7 tokens over the symbols a to e"
    formulas train --symbols 5 --max-length 7 --size 12000 --seed 1
    test_sets 5 7
elif [ "$scale" = medium ]; then
    step "data: formulas of at most 20 tokens over the symbols a to e, and a heat map"
    formulas seven --symbols 5 --max-length 7 --size 20000 --seed 1
    formulas to10 --symbols 5 --max-length 10 --size 200000 --seed 5
    formulas to20 --symbols 5 --max-length 20 --size 400000 --seed 6
    joined ten seven to10
    joined train ten to20
    test_sets 7 20
    grid --semantics prop --max-length 40 --per-cell 10
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
    for part in seven ten; do
        binarise "$out/bin.$part" --trainpref "$data/$part" --validpref "$data/valid" \
            --srcdict "$out/bin/dict.src.txt"
    done
fi
