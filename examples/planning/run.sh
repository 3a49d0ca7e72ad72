#!/usr/bin/env bash
# Data, training, and the tables of README.md; goes on if interrupted.
#   bash examples/planning/run.sh PLANBENCH SYMT [DIR]      the folders of PDDL; results go to DIR
set -euo pipefail
planbench=$(realpath "${1:?the folder of PlanBench}") symt=$(realpath "${2:?the folder of the problems of SymT}") out=${3:+$(realpath -m "$3")}
cd "$(dirname "${BASH_SOURCE[0]}")/../.." && bash scripts/setup.sh
export PATH="$PWD/.venv/bin:$PATH" PYTHONWARNINGS=ignore
out=${out:-$PWD/outputs/planning}; data=$out/data
make() { [ -e "$data/$1.tgt" ] || sit generate examples.planning.five:DOMAIN "$data/$1" "${@:2}" --without "$planbench" "$symt"; }
make valid --size 1000 --seed 2
make blocks --sizes blocksworld --size 90000 --seed 10 --exclude "$data/valid"
make logistics --sizes logistics --size 145000 --seed 11 --exclude "$data/valid"
make depots --sizes depots --size 110000 --seed 12 --exclude "$data/valid"
make visitall --sizes visitall --size 55000 --seed 13 --exclude "$data/valid"
make gripper --sizes gripper --size 45000 --seed 14 --exclude "$data/valid"
[ -d "$out/bin" ] || { rm -rf "$out/new"
    for s in src tgt; do cat "$data"/{blocks,logistics,depots,visitall,gripper}.$s > "$data/train.$s"; head -n 300 "$data/valid.$s" > "$data/short.$s"; done
    fairseq-preprocess -s src -t tgt --joined-dictionary --trainpref "$data/train" --validpref "$data/short" --destdir "$out/new"; mv "$out/new" "$out/bin"; }
fairseq-hydra-train --config-dir "$PWD/examples/planning" --config-name planning common.user_dir="$PWD/sit_fairseq" \
    task.data="$out/bin" checkpoint.save_dir="$out/model" hydra.run.dir="$out"
tables() { python -m examples.planning.tables "$out/model/checkpoint_best.pt" --symt "$symt" "$@"; }
tables --planbench "$planbench" --out "$out/results"
[ -d "$out/pddl" ] || python -m examples.planning.rename "$planbench" "$out/pddl"; tables --planbench "$out/pddl" --sets blocksworld_600 --out "$out/renamed"
python -m examples.planning.figures "$out"
