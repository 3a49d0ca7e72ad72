#!/usr/bin/env bash
# The table of RESULTS.md, about an hour on 2 cores.
#   bash examples/ltl/results.sh [DIR]       results go to DIR (outputs/ltl-results)
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
start ltl mini "${1:-outputs/ltl-results}"
results 8 12 30000
