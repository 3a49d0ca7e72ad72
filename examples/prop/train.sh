#!/usr/bin/env bash
#   bash examples/prop/train.sh [mini|medium|paper] [DIR]
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
start prop "$@"
step "training with examples/prop/hydra/$scale.yaml"
before=()
if [ "$scale" = medium ]; then
    # What ! and xor do is learnt on short formulas; among long ones alone it takes ages.
    train seven bin.seven optimization.max_update=2500 optimization.lr=[0.003]
    train ten bin.ten optimization.max_update=8000 optimization.lr=[0.002] \
        checkpoint.finetune_from_model="$out/seven/checkpoint_last.pt"
    before=(checkpoint.finetune_from_model="$out/ten/checkpoint_last.pt")
fi
train model bin "${before[@]}"
