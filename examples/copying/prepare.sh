#!/usr/bin/env bash
# Data: random strings, to be copied.
#   bash examples/copying/prepare.sh [mini|paper] [DIR]
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
start copying "$@"
strings() { pairs "$1" copy "${@:2}"; }

if [ "$scale" = mini ]; then
    step "data: strings of 5 to 20 tokens over 8 symbols"
    strings train --symbols 8 --min-length 5 --max-length 20 --size 30000 --seed 1
    strings valid --symbols 8 --min-length 5 --max-length 20 --size 500 --seed 2
    strings test --symbols 8 --min-length 5 --max-length 20 --size 1000 --seed 3
    strings unseen --symbols "$(echo {k..z} | tr ' ' ,)" --min-length 5 --max-length 20 \
        --size 1000 --seed 4
    strings long --symbols "$(echo {k..z} | tr ' ' ,)" --min-length 21 --max-length 40 \
        --size 1000 --seed 5
    for name in test unseen long; do renamed $name 2; done
else
    step "data: strings of 20 to 80 tokens over 20 symbols, and a grid up to 160 by 160"
    strings train
    strings valid --size 1000 --seed 43
    strings test --size 10000 --seed 44
    strings unseen --symbols 26 --size 10000 --seed 45
    grid --semantics copy
fi
binarise "$out/bin" --trainpref "$data/train" --validpref "$data/valid"
