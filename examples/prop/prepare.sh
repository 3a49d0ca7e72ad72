#!/usr/bin/env bash
# Data: random formulas with a satisfying partial assignment each.
#   bash examples/prop/prepare.sh [mini|medium|paper] [DIR] [--labels depth-first|smallest|aiger]
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
start prop "$@"
formulas() { pairs "$1" prop --labels "$labels" "${@:2}"; }

# test_sets SYMBOLS SHORTEST LONGEST MORE DISTINCT: held-out formulas over as many symbols as in
# training, and over MORE of which DISTINCT different ones are in each.
test_sets() {
    formulas valid --symbols "$1" --max-length "$3" --size 500 --seed 2 --exclude "$data/train"
    formulas test --symbols "$1" --min-length "$2" --max-length "$3" --size 1000 --seed 3 \
        --exclude "$data"/{train,valid}
    formulas more --symbols "$4" --distinct-symbols "$5" --min-length "$2" --max-length "$3" \
        --size 1000 --seed 4 --exclude "$data"/{train,valid,test}
    renamed test 2
    renamed more 2
}

if [ "$scale" = paper ]; then
    choose_labels smallest depth-first aiger
else
    choose_labels depth-first smallest aiger
fi
if [ "$scale" = mini ]; then
    step "data: formulas of at most 10 tokens over the symbols a to c"
    formulas train --symbols 3 --max-length 10 --size 200000 --seed 1
    test_sets 3 7 10 5 4-5
elif [ "$scale" = medium ]; then
    step "data: formulas of at most 35 tokens over the symbols a to e, and a heat map"
    formulas to10 --symbols 5 --max-length 10 --size 200000 --seed 1
    formulas to35 --symbols 5 --max-length 35 --size 800000 --seed 5 --exclude "$data/to10"
    joined train to10 to35
    test_sets 5 3 35 10 6-10
    grid --semantics prop --per-cell 10 --exclude "$data/train"
else
    step "data: formulas of at most 35 tokens, and a heat map"
    formulas train --symbols 5 --size 800000
    formulas valid --symbols 5 --size 100000 --seed 44 --exclude "$data/train"
    formulas test --symbols 5 --size 100000 --seed 45 --exclude "$data"/{train,valid}
    formulas more --symbols 10 --distinct-symbols 6-10 --size 100000 --seed 46 \
        --exclude "$data"/{train,valid,test}
    grid --semantics prop --exclude "$data"/{train,valid}
fi
binarise "$out/bin" --trainpref "$data/train" --validpref "$data/valid"
