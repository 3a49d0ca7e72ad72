#!/usr/bin/env bash
# Data, trainings of ten minutes each on two cores, the table of README.md; goes on if interrupted.
#   bash examples/binding/run.sh [DIR]      results go to DIR (outputs/binding)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." && bash scripts/setup.sh
export PATH="$PWD/.venv/bin:$PATH" PYTHONWARNINGS=ignore
out=${1:-outputs/binding} data=${1:-outputs/binding}/data
terms() { sit generate binding "$data/$1" --seed "$2" "${@:3}"; }
if ! [ -d "$out/bin.control" ]; then
    rm -rf "$out/new" "$out"/bin.*
    terms train 1 --arguments 4 --size 100000
    terms valid 2 --arguments 4 --size 500 --exclude "$data/train"
    terms test 3 --arguments 4 --size 1000 --exclude "$data"/{train,valid}
    terms variables 4 --variables 5-10 --binders 3 --arguments 4 --size 1000
    terms binders 5 --binders 4-6 --size 1000
    terms both 6 --variables 5-10 --binders 4-6 --size 1000
    terms control 1 --binders 0-6 --size 100000 --exclude "$data"/{test,binders,both}
    sit overlap "$data"/{test,variables,binders,both} --with "$data/train" --symbols '[a-ei-z]' --expect-none
    for name in train control; do
        fairseq-preprocess -s src -t tgt --joined-dictionary --trainpref "$data/$name" \
            --validpref "$data/valid" --destdir "$out/new"
        mv "$out/new" "$out/bin.$name"
    done
fi
sit experiments examples/binding/results.yaml "$out"
