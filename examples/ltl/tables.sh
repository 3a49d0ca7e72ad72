#!/usr/bin/env bash
# Data of the tables and figures of the paper: formulas over a to e under its training conditions,
# formulas over as many symbols as the tests have, tests with at most five symbols and with more,
# and the grid of the heat maps.
#   bash examples/ltl/tables.sh [mini|medium|paper] [DIR] [--labels spot|depth-first]
purpose=-tables
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
start ltl "$@"
formulas() { pairs "$1" ltl --labels "$labels" --max-length "$longest" "${@:2}"; }

longest=35 most=10 size=800000 held=1000
case $scale in
    mini) longest=14 most=7 size=60000 cells=(--max-length 18 --per-cell 10) ;;
    medium) cells=(--per-cell 10) ;;
    *) held=100000 cells=() ;;
esac
if [ "$scale" = paper ]; then
    choose_labels spot depth-first
else
    choose_labels depth-first spot
fi
step "data: formulas of at most $longest tokens over a to e, and over $most symbols, and a heat map"
formulas train --symbols 5 --size "$size"
formulas full --symbols "$most" --size "$size" --seed 43
formulas valid --symbols 5 --min-length 8 --size "$held" --seed 44 --exclude "$data"/{train,full}
formulas test --symbols 5 --min-length 8 --size "$held" --seed 45 --exclude "$data"/{train,full,valid}
formulas more --symbols "$most" --distinct-symbols "6-$most" --min-length 11 --size "$held" --seed 46 \
    --exclude "$data"/{train,full,valid,test}
grid --semantics ltl --max-symbols "$most" "${cells[@]}" --exclude "$data"/{train,full}
conditions $((size / 10))
