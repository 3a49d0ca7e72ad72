#!/usr/bin/env bash
# Training, conversion, fine-tuning and measurements, by the runner of the paper's tables.
#   bash examples/conversion/run.sh [--out DIR]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
bash scripts/setup.sh
.venv/bin/python examples/paper/run.py conversion mini model "$@"
