#!/usr/bin/env bash
# The paper's tables and heat maps of the 19 attention patterns.
# What is done is not done again, so that the same command goes on after an interruption.
#   bash examples/prop/ablation.sh [mini|medium|paper] [DIR] [--labels depth-first|smallest|aiger]
purpose=-tables
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
start prop "$@"
bash examples/prop/tables.sh "$@"
table ablation
