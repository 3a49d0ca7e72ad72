#!/usr/bin/env bash
# Makes data, trains and measures what table.yaml says, and prints one table; goes on if interrupted.
#   bash run.sh [DIR]      what it makes goes to DIR (out); remove that after a change of the data
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
export PYTHONPATH="$PWD${PYTHONPATH:+:$PYTHONPATH}" PYTHONWARNINGS=ignore
out=${1:-out} data=${1:-out}/data
symbols=('person=P[0-9]+' 'thing=t[0-9]+')
if ! [ -d "$out/bin" ]; then
    rm -rf "$out/new"
    mkdir -p "$data"
    python data.py "$data/train" 20000 1 1 3
    python data.py "$data/valid" 200 2 1 3
    python data.py "$data/test" 500 3 1 3
    python data.py "$data/more" 500 4 4 5
    python data.py "$data/all" 2000 5 1 6
    sit overlap "$data"/{test,more} --with "$data/train" --symbols "${symbols[@]}"
    sit grid "$out/grid" --from "$data/all" --symbols "${symbols[@]}" --per-cell 10
    fairseq-preprocess -s src -t tgt --joined-dictionary --trainpref "$data/train" \
        --validpref "$data/valid" --destdir "$out/new"
    mv "$out/new" "$out/bin"
fi
sit experiments table.yaml "$out"
