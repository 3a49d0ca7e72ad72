#!/usr/bin/env bash
# Sets up .venv if need be and runs the tests; arguments go to pytest.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bash scripts/setup.sh
# Threads that wait actively for each other are ruinous when cores are shared.
export OMP_WAIT_POLICY=PASSIVE
exec .venv/bin/python -m pytest "$@"
