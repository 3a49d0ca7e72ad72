#!/usr/bin/env bash
# Counts the lines of the package by its parts, those of the tests, and the words of the documents
# without tables and code.
#   bash scripts/weights.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

lines() { git ls-files -- "$@" | xargs cat | wc -l; }
print() { printf '%-42s %6d\n' "$1" "$2"; }

wings=(domains/planning conversion export)
outside=()
for wing in "${wings[@]}"; do outside+=(":!sit_fairseq/$wing"); done
one_sitting=(symbols/{streams,slots} models/{attention,layers,embedding,memory,stacks,all_places,transformer})
core=(symbols/{fresh,vocabulary} models/{adacos_scale,baselines,cache,config,context,cpu_kernels}
    models/{language_model,own_places,positions})

print "package without its wings" "$(lines 'sit_fairseq/*.py' "${outside[@]}")"
for wing in "${wings[@]}"; do print "wing $wing" "$(lines "sit_fairseq/$wing/*.py")"; done
files=("${one_sitting[@]/#/sit_fairseq/}")
print "core: the model in one sitting" "$(lines "${files[@]/%/.py}")"
files+=("${core[@]/#/sit_fairseq/}")
print "core: with layouts, baselines and config" "$(lines "${files[@]/%/.py}")"
print "search" "$(lines 'sit_fairseq/search/*.py')"
print "tests" "$(lines 'tests/*.py')"
print "words of documents" "$(git ls-files -z '*.md' | xargs -0 cat |
    awk '/^```/ { code = !code } !code && !/^\|/ && !/^```/' | wc -w)"
