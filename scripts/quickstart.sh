#!/usr/bin/env bash
# From nothing to judged answers: sets up .venv, then runs the small propositional example:
# generates data, trains on two CPU cores, answers formulas over symbols the model has and
# has not seen, and prints a table.
#   bash scripts/quickstart.sh [DIR]      results go to DIR (quickstart)
# Each step is skipped if its result is there already; interrupted training resumes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
for part in prepare train generate evaluate; do
    bash "examples/prop/$part.sh" mini "${1:-quickstart}"
done
