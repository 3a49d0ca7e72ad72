#!/usr/bin/env bash
# After train.sh: training goes on with truth tables as its teacher. The model answers the longer
# formulas of its training by beam search, and what is right there rises at the cost of the rest.
#   bash examples/prop/refine.sh [mini|medium] [DIR]
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
start prop "$@"
case $scale in
    mini) shortest=6 updates=100 ;;
    medium) shortest=18 updates=600 ;;
    *)
        echo "$0: no updates were tried at the scale $scale; there are mini and medium" >&2
        exit 1
        ;;
esac
needs "$data/train.tgt" prepare
needs "$out/model/finished" train
if ! [ -d "$out/bin.refine" ]; then
    paste "$data"/train.{src,tgt} | awk -F '\t' -v n="$shortest" 'split($1, _, " ") >= n' |
        tail -n 150000 >"$data/long"
    cut -f 1 "$data/long" >"$data/long.src"
    cut -f 2 "$data/long" >"$data/long.tgt"
    rm "$data/long"
    binarise "$out/bin.refine" --trainpref "$data/long" --validpref "$data/valid" \
        --srcdict "$out/bin/dict.src.txt"
fi
step "$updates updates with --criterion minimum_risk"
train refined bin.refine "checkpoint.finetune_from_model='$out/model/checkpoint_last.pt'" \
    criterion._name=minimum_risk ++criterion.risk_weight=100 \
    optimization.lr=[0.0003] "optimization.max_update=$updates" optimization.stop_time_hours=0 \
    dataset.batch_size=64 \
    lr_scheduler.warmup_updates=20 "++lr_scheduler.lr_period_updates=$((updates - 20))" \
    ++task.length_ramp_updates=0 ++task.length_ramp_start=null \
    ++dataset.validate_interval_updates=100 ++checkpoint.save_interval_updates=100
