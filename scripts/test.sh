#!/usr/bin/env bash
# Sets up .venv if need be, checks the form of the code, and runs the tests.
#   bash scripts/test.sh [PYTEST OPTIONS...]         all of them
#   bash scripts/test.sh fast [PYTEST OPTIONS...]    those that only compute, in about two minutes
#   bash scripts/test.sh browser [PYTEST OPTIONS...] the playground in Chromium, which it installs; exit
#                                                    status 77 if it cannot
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bash scripts/setup.sh
# Threads that wait actively for each other are ruinous when cores are shared.
export OMP_WAIT_POLICY=PASSIVE
# Some hundred processes would each compile the package where Python is told to write no bytecode.
unset PYTHONDONTWRITEBYTECODE
if [ "${1:-}" = fast ]; then
    shift
    set -- -m fast "$@"
fi
if [ "${1:-}" = browser ]; then
    shift
    if ! { command -v chromium && command -v chromedriver; } >/dev/null; then
        echo "test: installing Chromium"
        sudo=$([ "$(id -u)" = 0 ] || echo sudo)
        if ! timeout 600 sh -c "$sudo apt-get update -qq && $sudo apt-get install -y -qq \
            chromium chromium-driver fonts-noto-color-emoji" >/dev/null 2>&1; then
            echo "test: Chromium cannot be installed here (Debian's chromium and chromium-driver);" \
                "the browser tests were not run" >&2
            exit 77
        fi
    fi
    if ! (cd examples/playground && npm install --silent --no-audit --no-fund) 2>/dev/null; then
        echo "test: npm cannot install onnxruntime-web here; the browser tests were not run" >&2
        exit 77
    fi
    exec .venv/bin/python -m pytest tests/browser "$@"
fi
.venv/bin/python -m isort --check-only --quiet .
.venv/bin/python -m black --check .
exec .venv/bin/python -m pytest -n 2 --dist loadfile "$@"
