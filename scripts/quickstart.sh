#!/usr/bin/env bash
# From nothing to judged answers: sets up .venv, generates propositional data, trains a
# small model on two CPU cores, and answers formulas over symbols it has and has not seen.
#   bash scripts/quickstart.sh [DIR]      results go to DIR (quickstart)
# Each step is skipped if its result is there already; interrupted training resumes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bash scripts/setup.sh
PATH="$PWD/.venv/bin:$PATH"
# Threads that wait actively for each other are ruinous when cores are shared.
export OMP_WAIT_POLICY=PASSIVE
# fairseq's notes on hydra's and torch's deprecations.
export PYTHONWARNINGS=ignore

out=${1:-quickstart}
data=$out/data
mkdir -p "$data"
plug_in=(--user-dir sit_fairseq --task stream_translation)

step() { printf '\n== %s\n' "$*"; }

# formulas NAME OPTIONS...: a pair of files, unless it is there.
formulas() {
    local name=$1
    shift
    [ -f "$data/$name.tgt" ] || python scripts/generate_prop.py "$data/$name" --max-length 6 "$@"
}

# binarise DESTINATION OPTIONS...: fairseq-preprocess, unless it was done.
binarise() {
    local destination=$1
    shift
    [ -d "$destination" ] && return
    rm -rf "$destination.partial"
    fairseq-preprocess --source-lang src --target-lang tgt --joined-dictionary \
        --destdir "$destination.partial" "$@" >"$out/preprocess.log" 2>&1 ||
        { cat "$out/preprocess.log"; exit 1; }
    mv "$destination.partial" "$destination"
}

# answer NAME: decodes and judges a test set that brings a dictionary of its own.
answer() {
    local name=$1
    binarise "$out/bin.$name" --trainpref "$data/$name" --testpref "$data/$name"
    [ -f "$out/$name.txt" ] && return
    echo "answering $name"
    fairseq-generate "$out/bin.$name" "${plug_in[@]}" --path "$out/model/checkpoint_last.pt" \
        --beam 3 --batch-size 100 --max-len-b 20 --scoring semantic --semantics prop --num-workers 0 \
        >"$out/$name.partial" 2>"$out/$name.log" || { cat "$out/$name.log" >&2; exit 1; }
    mv "$out/$name.partial" "$out/$name.txt"
}

step "data: formulas of at most 6 tokens over the symbols a to e"
formulas train --symbols 5 --size 12000 --seed 1
formulas valid --symbols 5 --size 500 --seed 2 --exclude "$data/train"
formulas test --symbols 5 --min-length 5 --size 1000 --seed 3 --exclude "$data/train" "$data/valid"
formulas unseen --symbols f,g,h,i,j,k,l,m,n,o --min-length 5 --size 1000 --seed 4
for copy in 1 2; do
    for name in test unseen; do
        [ -f "$data/$name.renamed$copy.tgt" ] ||
            python scripts/rename_symbols.py "$data/$name" "$data/$name.renamed$copy" \
                --symbols '[a-z]' --names "$(echo {a..z} | tr ' ' ,)" --seed "$copy"
    done
done
binarise "$out/bin" --trainpref "$data/train" --validpref "$data/valid"

step "training (at most 8 minutes on 2 cores)"
if ! [ -f "$out/model/finished" ]; then
    fairseq-train "$out/bin" "${plug_in[@]}" --symbols '[a-z]' \
        --arch symbol_invariant_transformer_tiny --dropout 0 \
        --criterion adacos --optimizer adam --adam-betas '(0.9, 0.95)' --clip-norm 1.0 \
        --lr 3e-3 --lr-scheduler cosine --warmup-updates 200 --max-update 2000 \
        --stop-time-hours 0.125 --batch-size 128 --num-workers 1 --cpu \
        --validate-semantics prop --validate-interval-updates 500 --save-interval-updates 250 \
        --keep-interval-updates 1 --no-epoch-checkpoints --validate-interval 1000 \
        --best-checkpoint-metric correct --maximize-best-checkpoint-metric \
        --tensorboard-logdir "$out/tensorboard" --log-interval 50 \
        --save-dir "$out/model" --log-file "$out/train.log"
    touch "$out/model/finished"
fi

step "answers, judged by truth tables"
for name in test unseen; do
    for copy in "" .renamed1 .renamed2; do
        answer "$name$copy"
    done
done
LOGLEVEL=WARNING python scripts/quickstart_table.py "$out"
