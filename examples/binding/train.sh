#!/usr/bin/env bash
#   bash examples/binding/train.sh [mini] [DIR]
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
start binding "$@"
step "training with examples/binding/hydra/$scale.yaml"
train model bin
