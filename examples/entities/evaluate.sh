#!/usr/bin/env bash
# How many meanings are right, token by token.
#   bash examples/entities/evaluate.sh [mini] [DIR]
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
start entities "$@"
needs "$out/test.txt" generate
for name in test unseen; do
    awk -F'\t' -v name="$name" '
        /^T-/ { target[substr($1, 3)] = $2 }
        /^D-/ { total++; right += $3 == target[substr($1, 3)] }
        END { printf "%-8s %d of %d right (%.1f %%)\n", name, right, total, 100 * right / total }
    ' "$out/$name.txt"
done
