#!/usr/bin/env bash
# The table of the README: the model and the baselines, 10 minutes of training each on 2 cores.
# After prepare.sh.
#   bash examples/binding/results.sh [mini] [DIR]
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
start binding "$@"
needs "$data/both.tgt" prepare
sit experiments examples/binding/results.yaml "$out" --scale "$scale"
