#!/usr/bin/env bash
# Data, training, measurement; goes on if interrupted. sets: only what the cards measure on.   run.sh ltl|prop [DIR [sets]]
set -euo pipefail
logic=${1:?ltl or prop} out=${2:+$(realpath -m "$2")} end=${3:-}
cd "$(dirname "${BASH_SOURCE[0]}")/../.." && bash scripts/setup.sh
export PATH="$PWD/.venv/bin:$PATH" PYTHONWARNINGS=ignore
out=${out:-$PWD/outputs/formulas/$logic} here=$PWD/examples/formulas; data=$out/data
all='! & | -> <-> xor' long=64 sizes=(500000 200000 300000 300000) short=10 least=(3 3 7) grid=(--per-cell 10) order=()
[ "$logic" = prop ] || { all="F G X U W R M $all" long=48 sizes=(600000 100000 250000 250000) short=9 least=(8 11 8) grid=(--max-length 40 --per-cell 5) order=(--exchange); }
[ -d "$data/real" ] || { [ "$logic" = ltl ] || pip install --quiet --no-deps pyboolnet==3.0.16; sit generate "$logic" "$data/real" --held-out; }; held=("$data"/real/*.src)
make() { [ -e "$data/$1.tgt" ] || sit generate "$logic" "$data/$1" --labels depth-first "${@:2}" --exclude "${held[@]}"; held+=("$data/$1"); }
make test --symbols 5 --min-length "${least[0]}" --max-length 35 --size 1000 --seed 3
make more --symbols 10 --distinct-symbols 6-10 --min-length "${least[1]}" --max-length 35 --size 1000 --seed 4
make all --operators "$all" --symbols 5 --min-length "${least[2]}" --max-length 35 --size 1000 --seed 13
for set in test more all; do [ -e "$data/$set.exchanged.tgt" ] || python -m examples.paper.edits exchanged "$data/$set" "$data/$set.exchanged"; held+=("$data/$set.exchanged"); done
[ -e "$data/grid/manifest.json" ] || sit grid "$logic" "$data/grid" "${grid[@]}" --exclude "$data"/real/*.src "$data/test"; held+=("$data/grid/grid"); [ "$end" != sets ] || exit 0
make valid --style people --symbols 16 --max-length "$long" --size 500 --seed 2; make written --style people --symbols 16 --max-length "$long" --size "${sizes[0]}" --seed 1
make short --operators "$all" --symbols 5 --max-length "$short" --size "${sizes[1]}" --seed 5
make random --operators "$all" --symbols 5 --size "${sizes[2]}" --seed 6; make plain --symbols 5 "${order[@]}" --size "${sizes[3]}" --seed 7
[ -d "$out/bin" ] || { rm -rf "$out/new"; sit overlap "$data"/{test,more,all}{,.exchanged} "$data"/real/*.src --with "$data"/{written,short,random,plain} --expect-none
    for s in src tgt; do cat "$data"/{written,short,random,plain}.$s > "$data/train.$s"; done
    fairseq-preprocess -s src -t tgt --joined-dictionary --trainpref "$data/train" --validpref "$data/valid" --destdir "$out/new"; mv "$out/new" "$out/bin"; }
fairseq-hydra-train --config-dir "$here" --config-name "$logic" common.user_dir="$PWD/sit_fairseq" task.data="$out/bin" \
    checkpoint.save_dir="$out/model" hydra.run.dir="$out"
sit evaluate "$logic" --by written --path "$out/model/checkpoint_best.pt" --result "$out/real.json"
