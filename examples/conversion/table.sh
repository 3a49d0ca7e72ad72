#!/usr/bin/env bash
# The paper's table and heat maps of converted models: a baseline with fixed embeddings, converted,
# fine-tuned for one and for five epochs, and compared with the same pattern trained from scratch.
# (run.sh does it, for short formulas, with fairseq's own transformer.)
#   bash examples/conversion/table.sh [prop|ltl] [mini|medium|paper] [DIR]
purpose=-tables
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
logic=${1:-prop}
start "$logic" "${@:2}"
bash "examples/$logic/tables.sh" "${@:2}"

same=(++model.scale_cosine_embedding=true ++model.stream_attention=EP-DP-CP
    ++optimization.stop_time_hours=0)
recipe=() sizes=() tuned=normal box=()
# The rate of fine-tuning is not published: a third of the rate of training.
case $scale in
    mini)
        rate=0.0017 tuned=reduced  # five epochs of all would be more than the whole training
        box=(--training-length 13)
        if [ "$logic" = ltl ]; then
            box=(--training-length 14)
            recipe=(++criterion.min_scale=10 optimizer._name=muon 'optimization.lr=[0.005]'
                optimization.max_update=1500)
        fi
        ;;
    medium) rate=0.0007 box=() ;;
    *)
        rate=0.0003
        if [ "$logic" = prop ]; then
            sizes=(model.encoder_embed_dim=132 model.encoder_ffn_embed_dim=512)
        else
            sizes=(model.encoder_embed_dim=128 model.encoder_attention_heads=8)
        fi
        ;;
esac
limit=22
[ "$logic" = prop ] || limit=128
mkdir -p "$out/conversion"
shared=("${same[@]}" "${recipe[@]}")

step "training: the baseline, and the same pattern from scratch"
train conversion/baseline bin.normal "${shared[@]}" "${sizes[@]}" \
    ++model.symbol_embedding=fixed
train conversion/scratch bin.normal ++model.stream_attention=EP-DP-CP \
    ++optimization.stop_time_hours=0 "${recipe[@]}"
step "conversion"
[ -f "$out/conversion/converted.pt" ] ||
    sit convert "$out/conversion/baseline/checkpoint_last.pt" "$out/conversion/converted.pt" \
        --symbols '[a-z]' --actual a --placeholder b --verify --data "$out/bin.normal"
step "fine-tuning"
batch=$(sed -n 's/^  batch_size: //p' "examples/$logic/hydra/$scale.yaml")
source=$data/train.src
[ "$tuned" = normal ] || source=$data/$tuned.src
epoch=$((($(wc -l <"$source") + batch - 1) / batch))
for epochs in 1 5; do
    train "conversion/finetuned$epochs" "bin.$tuned" "${shared[@]}" "${sizes[@]}" \
        checkpoint.finetune_from_model="$out/conversion/converted.pt" \
        ++task.length_ramp_updates=0 "optimization.lr=[$rate]" \
        lr_scheduler.warmup_updates=$((epoch / 10)) optimization.max_update=$((epoch * epochs))
done

# measured NAME CHECKPOINT SETS...: shares of correct answers, and a heat map.
measured() {
    local set result
    for set in "${@:3}"; do
        result=$out/conversion/$1.$set
        [ ! -f "$result.json" ] || continue
        if [ "$set" = heat_map ]; then
            sit evaluate heat-map "$data/grid" --semantics "$logic" --path "$2" --max-len-b "$limit" \
                --data "$out/bin.normal" "${box[@]}" --result "$result.json" >"$result.md"
        else
            sit evaluate correct "$data/$set" --semantics "$logic" --path "$2" --max-len-b 100 \
                --data "$out/bin.normal" --result "$result.json" >"$result.md"
        fi
    done
}

step "answers"
measured baseline "$out/conversion/baseline/checkpoint_last.pt" test
measured converted "$out/conversion/converted.pt" test more heat_map
for name in finetuned1 finetuned5 scratch; do
    measured "$name" "$out/conversion/$name/checkpoint_last.pt" test more heat_map
done
python - "$out/conversion" <<'TABLE'
import json, os, sys
print("| model | 5 symbols | more symbols | heat map |\n| --- | --- | --- | --- |")
for name, label in (
    ("baseline", "pre-trained baseline"),
    ("converted", "converted"),
    ("finetuned1", "converted and fine-tuned, 1 epoch"),
    ("finetuned5", "converted and fine-tuned, 5 epochs"),
    ("scratch", "EP-DP-CP trained from scratch"),
):
    cells = []
    for measured, share in (("test", "correct"), ("more", "correct"), ("heat_map", "overall")):
        path = f"{sys.argv[1]}/{name}.{measured}.json"
        found = json.load(open(path))["result"][share] if os.path.exists(path) else None
        cells.append(f"{100 * found['share']:.1f} %" if found else "—")
    print("|", " | ".join([label, *cells]), "|")
TABLE
