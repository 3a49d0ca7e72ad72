#!/usr/bin/env bash
# Data: random strings, to be copied.
#   bash examples/copying/prepare.sh [mini|paper] [DIR]
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
start copying "$@"
strings() { pairs "$1" copy "${@:2}"; }

if [ "$scale" = mini ]; then
    step "data: strings of 5 to 20 tokens over 8 symbols, and a grid up to 40 symbols and 72 tokens"
    strings train --symbols 8 --min-length 5 --max-length 20 --size 30000 --seed 1
    strings valid --symbols 8 --min-length 5 --max-length 20 --size 500 --seed 2 \
        --exclude "$data/train"
    strings test --symbols 8 --min-length 5 --max-length 20 --size 1000 --seed 3 \
        --exclude "$data"/{train,valid}
    strings more --symbols 16 --distinct-symbols 9-16 --min-length 5 --max-length 20 --size 1000 \
        --seed 6 --exclude "$data"/{train,valid}
    strings unseen --symbols "$(echo {k..z} | tr ' ' ,)" --min-length 5 --max-length 20 \
        --size 1000 --seed 4 --exclude "$data"/{train,valid}
    strings long --symbols "$(echo {k..z} | tr ' ' ,)" --min-length 21 --max-length 40 \
        --size 1000 --seed 5 --exclude "$data"/{train,valid}
    for name in test more unseen long; do renamed $name 2; done
    grid --semantics copy --max-symbols 40 --max-length 72 --step 4 --per-cell 10 \
        --exclude "$data"/{train,valid}
else
    step "data: strings of 20 to 80 tokens over 20 symbols, and a grid up to 160 by 160"
    strings train
    strings valid --size 1000 --seed 43 --exclude "$data/train"
    strings test --size 10000 --seed 44 --exclude "$data"/{train,valid}
    strings more --symbols 26 --distinct-symbols 21-26 --size 10000 --seed 45 \
        --exclude "$data"/{train,valid}
    grid --semantics copy --exclude "$data"/{train,valid}
fi
binarise "$out/bin" --trainpref "$data/train" --validpref "$data/valid"
