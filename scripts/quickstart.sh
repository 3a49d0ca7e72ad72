#!/usr/bin/env bash
# From nothing to judged answers: sets up .venv, generates random LTL formulas of at most 14 tokens over
# five symbols, trains a small model for seven minutes at most, and prints how many answers to new
# formulas are right: over five symbols, and over six or seven, as drawn and with operands exchanged at
# random. examples/ltl/RESULTS.md has its scores.
# The same command goes on after an interruption.
#   bash scripts/quickstart.sh [DIR]          results go to DIR (quickstart)
#   bash scripts/quickstart.sh --pretrained   trains nothing, asks the models in checkpoints/
set -euo pipefail
out=${1:+$(realpath -m -- "$1")}
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bash scripts/setup.sh
export PATH="$PWD/.venv/bin:$PATH" PYTHONWARNINGS=ignore
case ${1:-quickstart} in
    --pretrained)
        sit answer prop 'speed_limit <-> !(door_open & p17)'
        sit answer ltl 'G (request -> F grant) & F request' '!close U open'
        ;;
    -*) echo "$0: give a folder, --pretrained, or nothing" >&2; exit 1 ;;
    *)
        # Spot judges LTL. Where it is missing, formulas are propositional; fewer answers are right then.
        if python -c 'import spot' 2>/dev/null; then task=ltl; else task=prop; fi
        python examples/paper/run.py "$task" mini model --minutes 7 --out "${out:-quickstart}"
        ;;
esac
