#!/usr/bin/env bash
#   bash examples/ltl/train.sh [mini|medium|paper] [DIR]
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
start ltl "$@"
step "training with examples/ltl/hydra/$scale.yaml"
before=()
if [ "$scale" = medium ]; then
    train twenty bin.twenty
    before=(checkpoint.finetune_from_model="$out/twenty/checkpoint_last.pt")
fi
train model bin "${before[@]}"
