#!/usr/bin/env bash
#   bash examples/copying/train.sh [mini|paper] [DIR]
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
start copying "$@"
step "training with examples/copying/hydra/$scale.yaml"
train model bin
