#!/usr/bin/env bash
# From nothing to judged answers: sets up .venv, then runs the small propositional example:
# generates data, trains on two CPU cores, answers formulas over symbols the model has and
# has not seen, and prints a table.
#   bash scripts/quickstart.sh [DIR]          results go to DIR (quickstart)
#   bash scripts/quickstart.sh --pretrained   trains nothing, asks the model in checkpoints/
# Each step is skipped if its result is there already; interrupted training resumes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if [ "${1:-}" = --pretrained ]; then
    source scripts/common.sh
    log=$(mktemp)
    printf '%s\n' 'xor a & b c' '<-> p17 ! speed_limit' |
        fairseq-interactive checkpoints/prop --source-lang src --target-lang tgt "${plug_in[@]}" \
            --symbols '(?!xor$)[a-z]\w*' --path checkpoints/prop/model.pt --beam 3 2>"$log" |
        grep '^[SH]-' || { cat "$log" >&2; exit 1; }
    rm "$log"
    exit
fi
if [[ "${1:-}" = -* ]]; then
    echo "$0: there is no option $1; give a folder, --pretrained, or nothing" >&2
    exit 1
fi
for part in prepare train generate evaluate; do
    bash "examples/prop/$part.sh" mini "${1:-quickstart}"
done
