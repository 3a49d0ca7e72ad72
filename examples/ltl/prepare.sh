#!/usr/bin/env bash
# Data: random formulas with a satisfying trace each, by Spot.
#   bash examples/ltl/prepare.sh [mini|medium|paper] [DIR] [--labels spot|depth-first]
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
start ltl "$@"
formulas() { pairs "$1" ltl --labels "$labels" "${@:2}"; }

# test_sets SHORTEST LONGEST MORE DISTINCT: held-out formulas over a to e, and over MORE symbols of
# which DISTINCT different ones are in each.
test_sets() {
    formulas valid --symbols 5 --max-length "$2" --size 500 --seed 2 --exclude "$data/train"
    formulas test --symbols 5 --min-length "$1" --max-length "$2" --size 1000 --seed 3 \
        --exclude "$data"/{train,valid}
    formulas more --symbols "$3" --distinct-symbols "$4" --min-length 11 --max-length "$2" \
        --size 1000 --seed 4 --exclude "$data"/{train,valid,test}
    renamed test 2
    renamed more 2
}

if [ "$scale" = paper ]; then
    choose_labels spot depth-first
else
    choose_labels depth-first spot
fi
if [ "$scale" = mini ]; then
    step "data: formulas of at most 12 tokens over the symbols a to e"
    formulas train --symbols 5 --max-length 12 --size 30000 --seed 1
    test_sets 8 12 6 6
elif [ "$scale" = medium ]; then
    step "data: formulas of at most 35 tokens over the symbols a to e, and a heat map"
    formulas to14 --symbols 5 --max-length 14 --size 150000 --seed 1
    formulas to35 --symbols 5 --size 500000 --seed 5 --exclude "$data/to14"
    joined train to14 to35
    test_sets 8 35 10 6-10
    grid --semantics ltl --max-length 40 --per-cell 5 --exclude "$data/train"
else
    step "data: formulas of at most 35 tokens, and a heat map"
    formulas train --symbols 5 --size 800000
    formulas valid --symbols 5 --size 100000 --seed 44 --exclude "$data/train"
    formulas test --symbols 5 --size 100000 --seed 45 --exclude "$data"/{train,valid}
    formulas more --symbols 10 --distinct-symbols 6-10 --size 100000 --seed 46 \
        --exclude "$data"/{train,valid,test}
    grid --semantics ltl --exclude "$data"/{train,valid}
fi
binarise "$out/bin" --trainpref "$data/train" --validpref "$data/valid"
