#!/usr/bin/env bash
# From nothing to judged answers: sets up .venv, generates formulas, trains a small model for seven
# minutes at most, and prints how many answers to new formulas are right, over symbols that the model
# has and has not seen. The same command goes on after an interruption.
#   bash scripts/quickstart.sh [DIR]          results go to DIR (quickstart)
#   bash scripts/quickstart.sh --pretrained   trains nothing, asks the models in checkpoints/
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bash scripts/setup.sh
export PATH="$PWD/.venv/bin:$PATH" PYTHONWARNINGS=ignore
case ${1:-quickstart} in
    --pretrained)
        sit answer prop 'speed_limit <-> !(door_open & p17)'
        sit answer ltl 'G (request -> F grant) & F request' '!close U open'
        ;;
    -*) echo "$0: give a folder, --pretrained, or nothing" >&2; exit 1 ;;
    *) python examples/paper/run.py prop mini model --minutes 7 --out "${1:-quickstart}" ;;
esac
