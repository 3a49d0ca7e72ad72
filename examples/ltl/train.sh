#!/usr/bin/env bash
#   bash examples/ltl/train.sh [mini|medium|paper] [DIR]
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
start ltl "$@"
step "training with examples/ltl/hydra/$scale.yaml"
train model bin
