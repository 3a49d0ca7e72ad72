#!/usr/bin/env bash
#   bash examples/entities/train.sh [mini] [DIR]
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
start entities "$@"
step "training with examples/entities/hydra/$scale.yaml"
train model bin
