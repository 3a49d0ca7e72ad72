#!/usr/bin/env bash
# The model of ten domains, and the tables of README.md; goes on if interrupted.
#   bash examples/planning/run.sh PLANBENCH SYMT IPC2023 [DIR]      the folders of PDDL; results go to DIR
set -euo pipefail
planbench=$(realpath "${1:?the folder of PlanBench}") symt=$(realpath "${2:?the folder of the problems of SymT}")
ipc=$(realpath "${3:?the folder of the competition of 2023}") out=${4:+$(realpath -m "$4")}
cd "$(dirname "${BASH_SOURCE[0]}")/../.." && bash scripts/setup.sh
.venv/bin/pip install -q up-fast-downward==1.0.0
export PATH="$PWD/.venv/bin:$PATH" PYTHONWARNINGS=ignore
out=${out:-$PWD/outputs/planning}; given=()
[ -d "$out/five" ] || { rm -rf "$out/new"
    python -m examples.planning.problems "$out/new" "$planbench" "$symt"; mv "$out/new" "$out/five"; }
for domain in blocksworld depots gripper logistics visitall; do given+=("$out/five/$domain/"{domain.pddl,}); done
for domain in ferry miconic satellite spanner transport; do given+=("$ipc/$domain/"{domain.pddl,training/easy}); done
sit train planning "${given[@]}" --plans "$out/five/plans" --out "$out/model" --most-objects 20 --minutes 95
python -m examples.planning.overlap "$out/model" "$ipc"/{blocksworld,ferry,miconic,satellite,spanner,transport}/testing/{easy,medium}
tables() { python -m examples.planning.tables "$out/model" "$@"; }
tables --planbench "$planbench" --symt "$symt" --ways search random "goal count" --out "$out/results"
easy=({blocksworld,ferry,miconic,satellite,spanner,transport}_easy)
tables --ipc "$ipc" --sets "${easy[@]}" --ways greedy search random "goal count" --out "$out/track"
[ -d "$out/pddl" ] || { rm -rf "$out/new"; python -m examples.planning.rename "$planbench" "$out/new"; mv "$out/new" "$out/pddl"; }
tables --planbench "$out/pddl" --sets blocksworld_600 --out "$out/renamed"
python -m examples.planning.figures "$out"
