#!/usr/bin/env bash
# The paper's tables and heat maps of the 19 attention patterns.
# What is done is not done again, so that the same command goes on after an interruption.
#   bash examples/ltl/ablation.sh [mini|medium|paper] [DIR] [--labels spot|depth-first]
purpose=-tables
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
start ltl "$@"
bash examples/ltl/tables.sh "$@"
table ablation
