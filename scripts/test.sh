#!/usr/bin/env bash
# Sets up .venv if need be, checks the form of the code, and runs the tests.
#   bash scripts/test.sh [PYTEST OPTIONS...]         all of them
#   bash scripts/test.sh fast [PYTEST OPTIONS...]    those that only compute, in a minute
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bash scripts/setup.sh
# Threads that wait actively for each other are ruinous when cores are shared.
export OMP_WAIT_POLICY=PASSIVE
if [ "${1:-}" = fast ]; then
    shift
    set -- -m fast "$@"
fi
.venv/bin/python -m isort --check-only --quiet .
.venv/bin/python -m black --check --quiet .
exec .venv/bin/python -m pytest "$@"
