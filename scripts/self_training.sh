# Sourced by examples/*/self_train.sh: a model trains on what it answers itself and a judge accepts.
# One training whose data change by rounds; all can be interrupted and is continued by the same
# command. Read from the environment:
#   ROUNDS   how many (4)                    SIZE    formulas tried in each (20000)
#   UPDATES  of training in each (1000)      LR      greatest learning rate (0.001)
#   CHOOSE   first or shortest (first)       BEAM    of the harvest (25)
#   LABELLED pairs beside it (100000)        PER_CELL formulas of a cell of the heat map (5)

# begin SHIPPED MINI: sets base, the model to go on from, and longest, the most tokens of a formula
# that it was trained on: SHIPPED that of checkpoints, MINI that of the scale mini, 35 others.
begin() {
    base=$out/model/checkpoint_last.pt
    longest=35
    case $scale in
        shipped) base=checkpoints/$example/model.pt longest=$1 ;;
        mini) longest=$2 ;;
    esac
    needs "$base" train
}

# labelled SHORTEST OPTIONS...: labelled pairs, those of the test of at least SHORTEST tokens.
labelled() {
    local options=(--symbols 5 --max-length "$longest" "${@:2}")
    step "data: formulas of at most $longest tokens over the symbols a to e, and a heat map"
    pairs train "$example" "${options[@]}" --size "${LABELLED:-100000}" --seed 1
    pairs valid "$example" "${options[@]}" --size 500 --seed 2 --exclude "$data/train"
    pairs test "$example" "${options[@]}" --min-length "$1" --size 1000 --seed 3 \
        --exclude "$data"/{train,valid}
}

# measured MODEL NAME: a model's answers within the sizes of training and beyond them.
measured() {
    [ -f "$out/$2.test.json" ] || sit evaluate correct "$data/test" --semantics "$example" \
        --path "$1" --max-len-b "$most" --result "$out/$2.test.json" >"$out/$2.test.log" 2>&1 ||
        { tail -n 1 "$out/$2.test.log" >&2; exit 1; }
    [ -f "$out/$2.grid.json" ] || sit evaluate heat-map "$data/grid" --semantics "$example" \
        --path "$1" --max-len-b "$most" --training-length "$longest" --full-brightness 5 \
        --result "$out/$2.grid.json" >"$out/$2.grid.log" 2>&1 ||
        { tail -n 1 "$out/$2.grid.log" >&2; exit 1; }
}

# untried ROUND: formulas that the labelled data do not have the like of, longer ones and ones with
# more symbols, no renamings of one another, nor of any that is measured or was tried before. They
# are drawn with labels, as unsatisfiable ones are left out so, but the labels are thrown away.
untried() {
    local before=() round
    [ -f "$data/untried$1.src" ] && return
    for round in $(seq $(($1 - 1))); do before+=("$data/untried$round.src"); done
    sit generate "$example" "$data/longer$1" --symbols 5 --min-length $((longest + 1)) \
        --max-length 50 --size $((SIZE / 2)) --seed $((100 + 2 * $1)) --labels depth-first \
        --exclude "$data"/{train,valid,test} "$data/grid/grid" "${before[@]}"
    sit generate "$example" "$data/wider$1" --symbols 10 --distinct-symbols 6-10 \
        --min-length 15 --max-length 50 --size $((SIZE / 2)) --seed $((101 + 2 * $1)) \
        --labels depth-first \
        --exclude "$data"/{train,valid,test} "$data/grid/grid" "$data/longer$1" "${before[@]}"
    cat "$data"/{longer,wider}"$1".src >"$data/untried$1.partial"
    mv "$data/untried$1.partial" "$data/untried$1.src"
    rm "$data"/{longer,wider}"$1".*
}

# mixed ROUND: the harvest and as many labelled pairs.
mixed() {
    local side
    [ -f "$data/mixed$1.tgt" ] && return
    paste "$data/train.src" "$data/train.tgt" |
        shuf -n "$(wc -l <"$out/harvest$1.src")" --random-source=<(yes "$1") >"$data/labelled$1"
    cut -f 1 "$data/labelled$1" | cat "$out/harvest$1.src" - >"$data/mixed$1.src"
    cut -f 2 "$data/labelled$1" | cat "$out/harvest$1.tgt" - >"$data/mixed$1.tgt.partial"
    mv "$data/mixed$1.tgt.partial" "$data/mixed$1.tgt"
}

# table_of_rounds: those so far.
table_of_rounds() {
    python - "$out" <<'PYTHON'
import json, os, sys
from sit_fairseq.evaluation.result_file import markdown_table

folder, rows = sys.argv[1], [["round", "in the box", "outside", "heat map", "verified of those tried"]]

def share(name, *path):
    file = os.path.join(folder, name)
    if not os.path.exists(file):
        return "—"
    with open(file, encoding="utf-8") as text:
        found = json.load(text)["result"]
    for key in path:
        found = found[key]
    low, high = found["interval_95"]
    return f"{100 * found['share']:.1f} % [{100 * low:.1f}, {100 * high:.1f}] of {found['total']}"

for number in range(100):
    if not os.path.exists(os.path.join(folder, f"round{number}.grid.json")):
        break
    cells = [share(f"round{number}.test.json", "correct")]
    cells += [share(f"round{number}.grid.json", part) for part in ("outside_box", "overall")]
    rows.append([number, *cells, share(f"harvest{number + 1}.json", "verified")])
print("\n" + markdown_table(rows))
PYTHON
}

# self_training: the rounds, from base on. A model that was shipped has no state of its optimizer,
# which then begins afresh.
self_training() {
    local model=$base round updates first=() state
    : "${ROUNDS:=4}" "${SIZE:=20000}" "${UPDATES:=1000}" "${LR:=0.001}" "${CHOOSE:=first}" "${BEAM:=25}"
    read -r updates state < <(python - "$model" <<'PYTHON'
import sys
from sit_fairseq.conversion.reading import read_state

found = read_state(sys.argv[1])
print(found["optimizer_history"][-1]["num_updates"], int("last_optimizer_state" in found))
PYTHON
    )
    first=(checkpoint.restore_file="$(realpath "$model")" checkpoint.reset_dataloader=true
        checkpoint.reset_meters=true checkpoint.reset_lr_scheduler=true)
    [ "$state" = 1 ] || { first+=(checkpoint.reset_optimizer=true); updates=0; }
    measured "$model" round0
    for round in $(seq "$ROUNDS"); do
        step "round $round: formulas, answers, training"
        untried "$round"
        [ -f "$out/harvest$round.json" ] || sit harvest "$data/untried$round.src" \
            "$out/harvest$round" --path "$model" --semantics "$example" --beam "$BEAM" \
            --choose "$CHOOSE" --max-len-b "$most" ||
            [ -f "$out/harvest$round.json" ]
        mixed "$round"
        binarise "$out/bin$round" --trainpref "$data/mixed$round" --validpref "$data/valid"
        [ -f "$out/model$round/checkpoint_last.pt" ] && first=()
        train "model$round" "bin$round" "${first[@]}" optimization.lr="[$LR]" \
            optimization.max_update=$((updates + round * UPDATES)) optimization.stop_time_hours=0 \
            lr_scheduler.warmup_updates=$((updates + 100)) \
            ++lr_scheduler.lr_period_updates=$((ROUNDS * UPDATES)) ++task.length_ramp_updates=0
        model=$out/model$round/checkpoint_last.pt
        first=(checkpoint.restore_file="$model" checkpoint.reset_dataloader=true
            checkpoint.reset_meters=true)
        measured "$model" "round$round"
        table_of_rounds
    done
}
