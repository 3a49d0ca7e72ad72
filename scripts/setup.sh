#!/usr/bin/env bash
# Makes .venv with the tested versions of everything, or finds it made already.
#   bash scripts/setup.sh            needs Python 3.11 to 3.13 (PYTHON=... to name one)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# What is installed is a function of these files; a change of them installs again. Another folder or
# another Python begins anew.
inputs=$(cat requirements.txt setup.py scripts/setup.sh | cksum)
stamp=.venv/installed
here() { echo "$(pwd -P) $("$1" -V 2>&1)"; }
where=$(here "${PYTHON:-.venv/bin/python}" || true)
made=$(cat "$stamp" 2>/dev/null || true)
if [ "$made" = "$inputs $where" ]; then
    exit 0
fi

python=${PYTHON:-python3}
if ! "$python" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))'; then
    echo "setup: $python is not Python 3.11, 3.12 or 3.13, which the pinned versions are for; set PYTHON" >&2
    exit 1
fi
if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    echo "setup: Python's venv module is missing; on Debian: apt-get install python3-venv" >&2
    exit 1
fi

echo "setup: installing into .venv (about a minute, and the time to download torch)"
install() { PYTHONWARNINGS=ignore .venv/bin/python -m pip install --quiet --disable-pip-version-check "$@"; }
# Compiles what the usual commands import: all that is installed would take half a minute.
compile() {
    PYTHONDONTWRITEBYTECODE= .venv/bin/python -W ignore - "$@" <<'END'
import importlib, logging, sys

logging.disable()
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
    except ModuleNotFoundError:  # Spot is not on every platform
        pass
END
}
if [ "${made% "$where"}" = "$made" ] || ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
    "$python" -m venv --clear .venv
    echo "begun $(here .venv/bin/python)" >"$stamp"
fi
install pip==26.3 # those of Python 3.11 need half a minute to choose the packages
install --no-compile -r requirements.txt
compile torch torch._dynamo spot
# READTHEDOCS leaves out fairseq's C++ parts, which sit_fairseq/tasks/compiled_parts.py has in NumPy.
# Without its dependencies: it asks for torchaudio, which nothing here uses. Without build isolation:
# its setup.py imports torch. Without the cache, which would give this build to other projects.
READTHEDOCS=1 install --no-compile --no-deps --no-build-isolation --no-cache-dir \
    fairseq-fixed==0.12.3.1 -e .
.venv/bin/python -W ignore -m sit_fairseq.tasks.compiled_parts
compile fairseq_cli.{train,generate,interactive,preprocess}
echo "$inputs $(here .venv/bin/python)" >"$stamp.partial"
mv "$stamp.partial" "$stamp"
