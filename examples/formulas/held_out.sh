#!/usr/bin/env bash
# The formulas that cards and tables measure on, in DIR/data.   bash examples/formulas/held_out.sh ltl|prop [DIR]
set -euo pipefail
logic=${1:?ltl or prop} out=${2:+$(realpath -m "$2")}
cd "$(dirname "${BASH_SOURCE[0]}")/../.." && bash scripts/setup.sh
export PATH="$PWD/.venv/bin:$PATH" PYTHONWARNINGS=ignore
out=${out:-$PWD/outputs/formulas/$logic}; data=$out/data
all='! & | -> <-> xor' long=64 least=(3 3 7) grid=(--per-cell 10)
[ "$logic" = prop ] || { all="F G X U W R M $all" long=48 least=(8 11 8) grid=(--max-length 40 --per-cell 5); }
[ "$logic" = ltl ] || [ -d "$data/real" ] || pip install --quiet --no-deps pyboolnet==3.0.16
[ -d "$data/real" ] || sit generate real "$logic" "$data/real"
held=("$data"/real/*.src)
make() { [ -e "$data/$1.tgt" ] || sit generate "$logic" "$data/$1" --labels depth-first "${@:2}" --exclude "${held[@]}"; held+=("$data/$1"); }
make test --symbols 5 --min-length "${least[0]}" --max-length 35 --size 1000 --seed 3
make more --symbols 10 --distinct-symbols 6-10 --min-length "${least[1]}" --max-length 35 --size 1000 --seed 4
make all --operators "$all" --symbols 5 --min-length "${least[2]}" --max-length 35 --size 1000 --seed 13
[ -e "$data/grid/manifest.json" ] || sit generate grid "$data/grid" --semantics "$logic" "${grid[@]}" --exclude "$data"/real/*.src "$data/test"
held+=("$data/grid/grid")
make valid --written --symbols 16 --max-length "$long" --size 500 --seed 2
