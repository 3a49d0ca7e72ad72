#!/usr/bin/env bash
# Data: random strings, to be copied.
#   bash examples/copying/prepare.sh [mini|paper] [DIR]
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
start copying "$@"
