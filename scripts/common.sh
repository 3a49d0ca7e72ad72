# Sourced by quickstart.sh and the scripts of examples/: the environment and the steps they
# share. Each step is skipped if its result is there already; interrupted training resumes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bash scripts/setup.sh
PATH="$PWD/.venv/bin:$PATH"
# Threads wait for each other for microseconds before they sleep: to wait longer is ruinous when
# cores are shared, and to sleep at once makes two threads slower than one on small models.
export GOMP_SPINCOUNT=3000
# fairseq's notes on hydra's and torch's deprecations.
export PYTHONWARNINGS=ignore
plug_in=(--user-dir sit_fairseq --task stream_translation)

# start EXAMPLE [SCALE] [DIR]: what to run (mini, medium or paper), and where its results go.
start() {
    example=$1
    scale=${2:-mini}
    out=$(realpath -m "${3:-outputs/$example-$scale}")
    data=$out/data
    if ! [ -f "examples/$example/hydra/$scale.yaml" ]; then
        echo "$0: there is no $scale.yaml in examples/$example/hydra, which holds the scales" >&2
        exit 1
    fi
    if [ "$(cat "$out/scale" 2>/dev/null || echo "$scale")" != "$scale" ]; then
        echo "$0: $out has results of another scale, $(cat "$out/scale"); name another folder" >&2
        exit 1
    fi
    mkdir -p "$data"
    echo "$scale" >"$out/scale"
}

# needs FILE STEP: refuses to go on if an earlier step of the example was left out.
needs() {
    [ -f "$1" ] && return
    echo "$0: $1 is missing; run examples/$example/$2.sh first" >&2
    exit 1
}

step() { printf '\n== %s\n' "$*"; }

# pairs NAME KIND OPTIONS...: a pair of files by one of our generators.
pairs() {
    [ -f "$data/$1.tgt" ] || sit generate "$2" "$data/$1" "${@:3}"
}

# joined NAME PARTS...: pairs of several files, one after the other.
joined() {
    [ -f "$data/$1.tgt" ] && return
    local side part
    for side in src tgt; do
        for part in "${@:2}"; do cat "$data/$part.$side"; done >"$data/$1.$side.partial"
        mv "$data/$1.$side.partial" "$data/$1.$side"
    done
}

# renamed NAME COPIES: copies of a test set with every sentence renamed at random.
renamed() {
    local copy
    for copy in $(seq "$2"); do
        [ -f "$data/$1.renamed$copy.tgt" ] ||
            sit rename "$data/$1" "$data/$1.renamed$copy" \
                --symbols '[a-z]' --names "$(echo {a..z} | tr ' ' ,)" --seed "$copy"
    done
}

# grid OPTIONS...: the data of a heat map.
grid() {
    [ -f "$data/grid/manifest.json" ] || sit generate grid "$data/grid" --resume "$@"
}

# binarise DESTINATION OPTIONS...: fairseq-preprocess.
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

# results SHORTEST LONGEST SIZE: the table of results.yaml, models on normal, renamed and reduced
# formulas of at most LONGEST tokens, a to e of ten symbols; tests from SHORTEST tokens on.
results() {
    local condition source
    step "data: formulas of at most $2 tokens over the symbols a to e, or a to j"
    pairs train "$example" --symbols 5 --max-length "$2" --size "$3" --seed 1
    pairs ten "$example" --symbols 10 --max-length "$2" --size "$3" --seed 5
    pairs valid "$example" --symbols 5 --max-length "$2" --size 500 --seed 2 \
        --exclude "$data"/{train,ten}
    pairs test "$example" --symbols 5 --min-length "$1" --max-length "$2" --size 1000 --seed 3 \
        --exclude "$data"/{train,ten,valid}
    pairs unseen "$example" --symbols 10 --min-length "$1" --max-length "$2" --size 1000 --seed 4 \
        --exclude "$data"/{train,ten,valid}
    [ -f "$data/renamed.tgt" ] ||
        sit condition renamed "$data/train" "$data/renamed"
    [ -f "$data/reduced.tgt" ] || sit condition reduced "$data/train" \
        "$data/reduced" --size $(($3 / 10)) --seed 1
    # One dictionary for all, with all symbols of the test sets.
    binarise "$out/bin.ten" --trainpref "$data/ten" --validpref "$data/valid"
    for condition in normal renamed reduced; do
        source=$condition
        [ "$condition" = normal ] && source=train
        binarise "$out/bin.$condition" --trainpref "$data/$source" --validpref "$data/valid" \
            --srcdict "$out/bin.ten/dict.src.txt"
    done
    step "training and measuring"
    sit experiments "examples/$example/results.yaml" "$out" --jobs 2
}

# train MODEL BINARISED OVERRIDES...: with the hyper-parameters of the example's hydra file.
train() {
    local model=$out/$1 binarised=$out/$2
    shift 2
    [ -f "$model/finished" ] && return
    fairseq-hydra-train --config-dir "$PWD/examples/$example/hydra" --config-name "$scale" \
        common.user_dir="$PWD/sit_fairseq" common.log_file="$model.log" \
        common.tensorboard_logdir="$out/tensorboard/$(basename "$model")" task.data="$binarised" \
        checkpoint.save_dir="$model" hydra.run.dir="$out/hydra/$(basename "$model")" "$@"
    touch "$model/finished"
}

# answer NAME OPTIONS...: decodes a test set that brings a dictionary of its own.
answer() {
    local name=$1
    shift
    binarise "$out/bin.$name" --trainpref "$data/$name" --testpref "$data/$name"
    [ -f "$out/$name.txt" ] && return
    echo "answering $name"
    fairseq-generate "$out/bin.$name" "${plug_in[@]}" --path "$out/model/checkpoint_last.pt" \
        --num-workers 0 "$@" \
        >"$out/$name.partial" 2>"$out/$name.log" || { cat "$out/$name.log" >&2; exit 1; }
    mv "$out/$name.partial" "$out/$name.txt"
}
