#!/usr/bin/env bash
# The paper's experiment on pre-trained models: trains fairseq's own transformer on formulas
# over three symbols, converts it, fine-tunes it for one and for five epochs, and compares it
# with the same architecture trained from scratch, on as many symbols and on more.
#   bash examples/conversion/run.sh [DIR]      results go to DIR (outputs/conversion)
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
out=$(realpath -m "${1:-outputs/conversion}")
data=$out/data
mkdir -p "$data"
formulas() { pairs "$1" prop --max-length 9 --labels depth-first "${@:2}"; }
symbols=(--symbols '[a-z]')
sizes=(--encoder-embed-dim 64 --encoder-ffn-embed-dim 256 --encoder-layers 2
    --encoder-attention-heads 4 --decoder-layers 2 --decoder-attention-heads 4 --dropout 0)
optimisation=(--optimizer adam --adam-betas '(0.9, 0.95)' --clip-norm 1.0 --lr-scheduler cosine
    --criterion cross_entropy --batch-size 128 --num-workers 1 --no-epoch-checkpoints
    --disable-validation --log-interval 50)

step "data: formulas of at most 9 tokens over the symbols a to c; a test set with more of them"
formulas train --symbols 3 --size 50000 --seed 1
formulas valid --symbols 3 --size 500 --seed 2 --exclude "$data/train"
formulas test --symbols 3 --min-length 5 --size 1000 --seed 3 --exclude "$data"/{train,valid}
formulas more --symbols 10 --distinct-symbols 4-5 --min-length 7 --size 1000 --seed 4 \
    --exclude "$data"/{train,valid}
binarise "$out/bin" --trainpref "$data/train" --validpref "$data/valid"

# trained NAME OPTIONS...: fairseq-train, unless it was done.
trained() {
    local name=$1
    shift
    [ -f "$out/$name/finished" ] && return
    step "training: $name"
    fairseq-train "$out/bin" "${optimisation[@]}" --save-dir "$out/$name" \
        --log-file "$out/$name.log" "$@"
    touch "$out/$name/finished"
}

# measured NAME CHECKPOINT SET: the share of correct answers, by greedy search.
measured() {
    [ -f "$out/$1.$3.json" ] ||
        sit evaluate correct "$data/$3" --semantics prop --path "$2" --beam 1 \
            --max-len-b 20 --data "$out/bin" --result "$out/$1.$3.json" >"$out/$1.$3.md"
}

from_scratch=(--lr 3e-3 --warmup-updates 200 --max-update 6000)
trained vanilla --task translation --arch transformer --share-all-embeddings \
    "${sizes[@]}" "${from_scratch[@]}"
[ -f "$out/converted.pt" ] ||
    sit convert "$out/vanilla/checkpoint_last.pt" "$out/converted.pt" \
        "${symbols[@]}" --actual a --placeholder b --verify | tee "$out/converted.txt"
stream=("${plug_in[@]}" "${symbols[@]}" --arch symbol_invariant_transformer
    --stream-attention EP-DP-CP --output-head linear "${sizes[@]}"
    --encoder-positions sinusoidal --decoder-positions sinusoidal)
for epochs in 1 5; do
    trained "finetuned$epochs" "${stream[@]}" --finetune-from-model "$out/converted.pt" \
        --lr 1e-3 --warmup-updates 20 --max-epoch "$epochs" --max-update "$((391 * epochs))"
done
trained scratch "${stream[@]}" "${from_scratch[@]}"

step "answers"
# fairseq's own task and search for fairseq's own model; the plug-in only lets torch read it.
binarise "$out/bin.test" --testpref "$data/test" --srcdict "$out/bin/dict.src.txt"
[ -f "$out/vanilla.txt" ] || {
    fairseq-generate "$out/bin.test" --user-dir sit_fairseq --task translation \
        --path "$out/vanilla/checkpoint_last.pt" --beam 1 --max-len-b 20 --num-workers 0 \
        --required-batch-size-multiple 1 >"$out/vanilla.partial" 2>"$out/vanilla.generate.log" ||
        { cat "$out/vanilla.generate.log" >&2; exit 1; }
    mv "$out/vanilla.partial" "$out/vanilla.txt"
}
[ -f "$out/vanilla.test.json" ] ||
    sit evaluate correct "$data/test" --semantics prop \
        --generated "$out/vanilla.txt" --result "$out/vanilla.test.json" >"$out/vanilla.test.md"
measured converted "$out/converted.pt" test
for name in finetuned1 finetuned5 scratch; do
    for set in test more; do measured "$name" "$out/$name/checkpoint_last.pt" "$set"; done
done
measured converted "$out/converted.pt" more
sit overlap "$data"/{test,more} --with "$data/train" --expect-none
python - "$out" <<'TABLE'
import json, os, sys
print("| model | 1 to 3 symbols | 4 or 5 symbols |\n| --- | --- | --- |")
for name, label in (
    ("vanilla", "pre-trained transformer"),
    ("converted", "converted"),
    ("finetuned1", "converted and fine-tuned, 1 epoch"),
    ("finetuned5", "converted and fine-tuned, 5 epochs"),
    ("scratch", "EP-DP-CP trained from scratch"),
):
    cells = []
    for test in ("test", "more"):
        path = f"{sys.argv[1]}/{name}.{test}.json"
        share = json.load(open(path))["result"]["correct"] if os.path.exists(path) else None
        cells.append(f"{100 * share['share']:.1f} %" if share else "—")
    print("|", " | ".join([label, *cells]), "|")
TABLE
