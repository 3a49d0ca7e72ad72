#!/usr/bin/env bash
# The table of RESULTS.md, about an hour on 2 cores.
#   bash examples/prop/results.sh [DIR]      results go to DIR (outputs/prop-results)
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
start prop mini "${1:-outputs/prop-results}"
results 5 7 20000
