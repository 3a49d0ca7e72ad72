#!/usr/bin/env bash
# Data: nested applications with their A-normal form.
#   bash examples/binding/prepare.sh [mini] [DIR]
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
start binding "$@"
terms() { pairs "$1" binding "${@:2}"; }

step "data: terms of at most 4 variables and 3 binders, and tests with more of them"
terms train --arguments 4 --size 100000 --seed 1
terms valid --arguments 4 --size 500 --seed 2 --exclude "$data/train"
terms test --arguments 4 --size 1000 --seed 3 --exclude "$data"/{train,valid}
terms variables --variables 5-10 --binders 3 --arguments 4 --size 1000 --seed 4
terms binders --binders 4-6 --size 1000 --seed 5
terms both --variables 5-10 --binders 4-6 --size 1000 --seed 6
binarise "$out/bin" --trainpref "$data/train" --validpref "$data/valid"
