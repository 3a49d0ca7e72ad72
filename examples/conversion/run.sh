#!/usr/bin/env bash
# Training, conversion, fine-tuning and measurements, by the runner of the paper's tables.
#   bash examples/conversion/run.sh [DIR]      results go to DIR
set -euo pipefail
out=${1:+$(realpath -m "$1")}
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
bash scripts/setup.sh
.venv/bin/python examples/paper/run.py conversion mini model ${out:+--out "$out"}
