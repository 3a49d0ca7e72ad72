#!/usr/bin/env bash
# Data: random formulas with a satisfying trace each, by Spot.
#   bash examples/ltl/prepare.sh [mini|medium|paper] [DIR]
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
start ltl "$@"
formulas() { pairs "$1" ltl --labels "$labels" "${@:2}"; }

# test_sets SHORTEST LONGEST: formulas over a to e and over ten other symbols, no renaming of any
# of which is in training.
test_sets() {
    formulas valid --symbols 5 --max-length "$2" --size 500 --seed 2 --exclude "$data/train"
    formulas test --symbols 5 --min-length "$1" --max-length "$2" --size 1000 --seed 3 \
        --exclude "$data/train" "$data/valid"
    formulas unseen --symbols f,g,h,i,j,k,l,m,n,o --min-length "$1" --max-length "$2" \
        --size 1000 --seed 4 --exclude "$data/train" "$data/valid"
    renamed test 2
    renamed unseen 2
}

labels=spot
if [ "$scale" = mini ]; then
    step "data: formulas of at most 12 tokens over the symbols a to e"
    formulas train --symbols 5 --max-length 12 --size 30000 --seed 1
    test_sets 8 12
elif [ "$scale" = medium ]; then
    step "data: formulas of at most 35 tokens over the symbols a to e, and a heat map"
    labels=depth-first
    formulas to14 --symbols 5 --max-length 14 --size 150000 --seed 1
    formulas to35 --symbols 5 --size 500000 --seed 5 --exclude "$data/to14" --resume
    joined train to14 to35
    test_sets 8 35
    grid --semantics ltl --max-length 40 --per-cell 5 --exclude "$data/train"
else
    step "data: formulas of at most 35 tokens, more of them with few symbols, and a heat map"
    formulas main --symbols 5 --size 800000 --resume
    formulas many --symbols 10 --size 800000 --seed 43 --resume
    [ -f "$data/train.tgt" ] ||
        sit condition supplemented "$data/main" "$data/many" "$data/train"
    formulas valid --symbols 5 --size 100000 --seed 44 --resume --exclude "$data/train"
    formulas test --symbols 5 --size 100000 --seed 45 --resume --exclude "$data/train" "$data/valid"
    formulas unseen --symbols 10 --size 100000 --seed 46 --resume --exclude "$data/train"
    grid --semantics ltl
fi
binarise "$out/bin" --trainpref "$data/train" --validpref "$data/valid"
