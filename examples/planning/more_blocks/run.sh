#!/usr/bin/env bash
# Data and the table of growth: Blocksworld with more blocks than in training; goes on if interrupted.
#   bash examples/planning/more_blocks/run.sh PLANBENCH SYMT [DIR]      the folders of PDDL; results go to DIR
set -euo pipefail
planbench=$(realpath "${1:?the folder of PlanBench}") symt=$(realpath "${2:?the folder of the problems of SymT}")
out=${3:+$(realpath -m "$3")}
cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && bash scripts/setup.sh
export PATH="$PWD/.venv/bin:$PATH" PYTHONWARNINGS=ignore
out=${out:-$PWD/outputs/planning}; data=$out/data
make() { [ -e "$data/$1.tgt" ] || sit generate examples.planning.five:DOMAIN "$data/$1" "${@:2}" --without "$planbench" "$symt"; }
binarise() { [ -d "$out/$1" ] || { rm -rf "$out/new"
    fairseq-preprocess -s src -t tgt --joined-dictionary "${@:2}" --destdir "$out/new"; mv "$out/new" "$out/$1"; }; }
make growth --sizes blocksworld=3,5-6 --size 60000 --seed 30
make growth.valid --sizes blocksworld=3,5-6 --size 300 --seed 31 --exclude "$data/growth"
make names --sizes blocksworld=20 --size 200 --seed 32 # the dictionary has the names of 20 blocks
binarise bin.names --trainpref "$data/names"
binarise bin.growth --srcdict "$out/bin.names/dict.src.txt" --trainpref "$data/growth" --validpref "$data/growth.valid"
python examples/paper/run.py examples/planning/growth.yaml --out "$out"
python -m examples.planning.growth --path random --result "$out/random.json"
python -m examples.planning.times "$out"
python -m examples.planning.figures "$out" --random "$out/random.json"
