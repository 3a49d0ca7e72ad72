#!/usr/bin/env bash
#   bash examples/prop/train.sh [mini|medium|paper] [DIR]
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
start prop "$@"
step "training with examples/prop/hydra/$scale.yaml"
first=()
if [ "$scale" = medium ]; then
    # What ! and xor do is learnt on short formulas; among long ones alone it takes ages.
    train short bin.short optimization.max_update=2500 optimization.lr=[0.003]
    first=(checkpoint.finetune_from_model="$out/short/checkpoint_last.pt")
fi
train model bin "${first[@]}"
