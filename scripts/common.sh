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

# start EXAMPLE [SCALE] [DIR] [--labels KIND]: what to run (mini, medium or paper), and where its
# results go, by default to outputs/EXAMPLE$purpose-SCALE.
start() {
    local given=()
    example=$1
    wanted_labels=
    shift
    while [ $# -gt 0 ]; do
        if [ "$1" = --labels ] && [ $# -gt 1 ]; then
            wanted_labels=$2
            shift
        elif [[ "$1" = -* ]]; then
            echo "$0: there is no option $1, or it lacks its value; there is --labels KIND" >&2
            exit 1
        else
            given+=("$1")
        fi
        shift
    done
    scale=${given[0]:-mini}
    out=$(realpath -m "${given[1]:-outputs/$example${purpose:-}-$scale}")
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

# choose_labels KINDS...: sets labels to the kind that --labels names, that the folder has already,
# or the first.
choose_labels() {
    local known=$1
    if [ -f "$out/labels" ]; then
        known=$(cat "$out/labels")
    elif ! [ -f "$data/train.tgt" ]; then
        known=${wanted_labels:-$1}
    fi
    labels=${wanted_labels:-$known}
    if [[ " $* " != *" $labels "* ]]; then
        echo "$0: there are no labels $labels; give one of $*" >&2
        exit 1
    fi
    if [ "$known" != "$labels" ]; then
        echo "$0: $out has data with other labels, $known; name another folder" >&2
        exit 1
    fi
    echo "$labels" >"$out/labels"
}

# exact_means: says below a table what "exact" is.
exact_means() {
    [ ! -f "$out/labels" ] || echo "exact: equal to the label; labels are those of --labels $(cat "$out/labels")"
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
    [ -f "$data/grid/manifest.json" ] || sit generate grid "$data/grid" "$@"
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

# conditions SIZE: the training data of the tables under the conditions of the paper, made from
# train and full, with one dictionary for all of them; reduced data have SIZE pairs.
conditions() {
    local condition source
    [ -f "$data/renamed.tgt" ] || sit edit renamed "$data/train" "$data/renamed"
    [ -f "$data/reduced.tgt" ] ||
        sit edit reduced "$data/train" "$data/reduced" --size "$1" --seed 1
    [ -f "$data/supplemented.tgt" ] ||
        sit edit supplemented "$data/train" "$data/full" "$data/supplemented" \
            --figure "$out/imbalance.png"
    binarise "$out/bin.full" --trainpref "$data/full" --validpref "$data/valid"
    for condition in normal renamed reduced supplemented; do
        source=$condition
        [ "$condition" = normal ] && source=train
        binarise "$out/bin.$condition" --trainpref "$data/$source" --validpref "$data/valid" \
            --srcdict "$out/bin.full/dict.src.txt"
    done
    sit overlap "$data"/{test,more} "$data/grid/grid" --with "$data"/{train,full} --expect-none
}

# table NAME: trains and measures what examples/EXAMPLE/NAME.yaml says, with the data of tables.sh.
table() {
    step "training and measuring"
    sit experiments "examples/$example/$1.yaml" "$out" --scale "$scale" --jobs 2
    exact_means
}

# figures LIMIT OPTIONS...: what the paper draws of a trained model: its heat map, one for each N of
# the top-N accuracy, both with answers of at most LIMIT tokens, and its cost by symbols. The model is
# that of train.sh, or the file named by MODEL. OPTIONS say what was trained on.
figures() {
    local model=${MODEL:-$out/model/checkpoint_last.pt}
    local options=(--path "$model" --max-len-b "$1" --semantics "$example" "${@:2}")
    needs "$data/train.tgt" prepare
    needs "$model" train
    step "figures"
    sit evaluate heat-map "$data/grid" "${options[@]}" --result "$out/figures/heat_map.json"
    sit evaluate top-n "$data/grid" "${options[@]}" --n 3,10,25 --result "$out/figures/top_n.json"
    sit evaluate cost --path "$model" --max-len-b "$1" --counts 1,2,3,4,5,6,7,8,9,10 \
        --result "$out/figures/cost.json"
    sit overlap "$data/grid/grid" --with "$data/train" --expect-none
}

# train MODEL BINARISED OVERRIDES...: with the hyper-parameters of the example's hydra file.
train() {
    local model=$out/$1 binarised=$out/$2
    shift 2
    [ -f "$model/finished" ] && return
    fairseq-hydra-train --config-dir "$PWD/examples/$example/hydra" --config-name "$scale" \
        "common.user_dir='$PWD/sit_fairseq'" "common.log_file='$model.log'" \
        "common.tensorboard_logdir='$out/tensorboard/$(basename "$model")'" \
        "task.data='$binarised'" "checkpoint.save_dir='$model'" \
        "hydra.run.dir='$out/hydra/$(basename "$model")'" "$@"
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
