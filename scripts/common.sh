# Sourced by quickstart.sh and the scripts of examples/: the environment and the steps they
# share. Each step is skipped if its result is there already; interrupted training resumes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bash scripts/setup.sh
PATH="$PWD/.venv/bin:$PATH"
# Threads that wait actively for each other are ruinous when cores are shared.
export OMP_WAIT_POLICY=PASSIVE
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
    mkdir -p "$data"
}

step() { printf '\n== %s\n' "$*"; }

# pairs NAME SCRIPT OPTIONS...: a pair of files by one of our generators.
pairs() {
    [ -f "$data/$1.tgt" ] || python "scripts/$2" "$data/$1" "${@:3}"
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
            python scripts/rename_symbols.py "$data/$1" "$data/$1.renamed$copy" \
                --symbols '[a-z]' --names "$(echo {a..z} | tr ' ' ,)" --seed "$copy"
    done
}

# test_sets SHORTEST LONGEST: held-out formulas over a to e and over ten other symbols.
test_sets() {
    formulas valid --symbols 5 --max-length "$2" --size 500 --seed 2 --exclude "$data/train"
    formulas test --symbols 5 --min-length "$1" --max-length "$2" --size 1000 --seed 3 \
        --exclude "$data/train" "$data/valid"
    formulas unseen --symbols f,g,h,i,j,k,l,m,n,o --min-length "$1" --max-length "$2" \
        --size 1000 --seed 4
    renamed test 2
    renamed unseen 2
}

# grid OPTIONS...: the data of a heat map.
grid() {
    [ -f "$data/grid/manifest.json" ] || python scripts/generate_grid.py "$data/grid" --resume "$@"
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
