#!/usr/bin/env bash
# Data, training and measurements, by the runner of the paper's tables.
#   bash examples/copying/run.sh [mini|paper] [model|figures|shipped] [--out DIR]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
bash scripts/setup.sh
.venv/bin/python examples/paper/run.py copying "$@"
