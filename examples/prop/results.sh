#!/usr/bin/env bash
# The table of RESULTS.md, about an hour on 2 cores.
#   bash examples/prop/results.sh [DIR]      results go to DIR (outputs/prop-results)
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
start prop mini "${1:-outputs/prop-results}"
formulas() { pairs "$1" generate_prop.py --max-length 7 "${@:2}"; }

step "data: formulas of at most 7 tokens over the symbols a to e, or a to j"
formulas train --symbols 5 --size 20000 --seed 1
formulas ten --symbols 10 --size 20000 --seed 5
formulas valid --symbols 5 --size 500 --seed 2 --exclude "$data/train" "$data/ten"
formulas test --symbols 5 --min-length 5 --size 1000 --seed 3 --exclude "$data"/{train,ten,valid}
formulas unseen --symbols 10 --min-length 5 --size 1000 --seed 4 --exclude "$data"/{train,ten,valid}
[ -f "$data/renamed.tgt" ] ||
    python scripts/make_condition.py renamed "$data/train" "$data/renamed"
[ -f "$data/reduced.tgt" ] ||
    python scripts/make_condition.py reduced "$data/train" "$data/reduced" --size 2000 --seed 1
# One dictionary for all, with all symbols of the test sets.
binarise "$out/bin.ten" --trainpref "$data/ten" --validpref "$data/valid"
for condition in normal renamed reduced; do
    train=$condition
    [ "$condition" = normal ] && train=train
    binarise "$out/bin.$condition" --trainpref "$data/$train" --validpref "$data/valid" \
        --srcdict "$out/bin.ten/dict.src.txt"
done

step "training and measuring"
python scripts/run_experiments.py examples/prop/results.yaml "$out" --jobs 2
