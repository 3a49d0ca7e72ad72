#!/usr/bin/env bash
#   bash examples/prop/train.sh [mini|medium|paper] [DIR]
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
start prop "$@"
step "training with examples/prop/hydra/$scale.yaml"
train model bin
