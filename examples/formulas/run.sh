#!/usr/bin/env bash
# Data, training and measurement; goes on if interrupted.   bash examples/formulas/run.sh ltl|prop [DIR]
source "$(dirname "${BASH_SOURCE[0]}")/held_out.sh"
sizes=(500000 200000 300000 300000) short=10
[ "$logic" = prop ] || { sizes=(600000 100000 250000 250000) short=9; }
make written --written --symbols 16 --max-length "$long" --size "${sizes[0]}" --seed 1
make short --operators "$all" --symbols 5 --max-length "$short" --size "${sizes[1]}" --seed 5
make random --operators "$all" --symbols 5 --size "${sizes[2]}" --seed 6
make plain --symbols 5 --size "${sizes[3]}" --seed 7
[ -d "$out/bin" ] || {
    rm -rf "$out/new"
    sit overlap "$data"/{test,more,all} "$data"/real/*.src --with "$data"/{written,short,random,plain} --expect-none
    for s in src tgt; do cat "$data"/{written,short,random,plain}.$s > "$data/train.$s"; done
    fairseq-preprocess -s src -t tgt --joined-dictionary --trainpref "$data/train" --validpref "$data/valid" --destdir "$out/new"
    mv "$out/new" "$out/bin"
}
fairseq-hydra-train --config-dir "$PWD/examples/formulas" --config-name "$logic" common.user_dir="$PWD/sit_fairseq" \
    task.data="$out/bin" checkpoint.save_dir="$out/model" hydra.run.dir="$out"
sit evaluate real "$logic" --path "$out/model/checkpoint_best.pt" --result "$out/real.json"
