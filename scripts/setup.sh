#!/usr/bin/env bash
# Makes .venv with the tested versions of everything, or finds it made already.
#   bash scripts/setup.sh            needs Python 3.11 to 3.13 (PYTHON=... to name one) and a
#                                    compiler
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# What is installed is a function of these files; a change of them installs again.
inputs=$(cat requirements.txt setup.py scripts/setup.sh | cksum)
stamp=.venv/installed
if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$inputs" ]; then
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
if ! command -v c++ >/dev/null || ! [ -f "$("$python" -c \
    'import sysconfig; print(sysconfig.get_paths()["include"])')/Python.h" ]; then
    echo "setup: fairseq needs a C++ compiler and Python's headers;" \
        "on Debian: apt-get install build-essential python3-dev" >&2
    exit 1
fi

echo "setup: installing into .venv (about seven minutes the first time, most of it fairseq)"
[ -x .venv/bin/python ] || "$python" -m venv .venv
.venv/bin/python -m pip install --quiet -r requirements.txt
# Without its dependencies: it asks for torchaudio, which nothing here uses. Without
# build isolation: it must be built against the torch just installed.
.venv/bin/python -m pip install --quiet --no-deps --no-build-isolation fairseq-fixed==0.12.3.1
.venv/bin/python -m pip install --quiet --no-deps --no-build-isolation -e .
echo "$inputs" >"$stamp.partial"
mv "$stamp.partial" "$stamp"
