# Sourced by examples/*/self_train.sh: a model trains on what it answers itself and a judge accepts.
# One training whose data change by rounds; all can be interrupted and is continued by the same
# command. Read from the environment:
#   ROUNDS   how many (4)                    SIZE    formulas tried in each (20000)
#   UPDATES  of training in each (1000)      LR      greatest learning rate (0.001)
#   CHOOSE   first or shortest (first)       BEAMS   of the harvest (3,25)
#   LABELLED pairs beside it (100000)        PER_CELL formulas of a cell of the heat map (5)

# begin SHIPPED MINI: sets base, the model to go on from, and longest, the most tokens of a formula
# that it was trained on: SHIPPED that of checkpoints, MINI that of the scale mini, 35 others.
begin() {
    : "${ROUNDS:=4}" "${SIZE:=20000}" "${UPDATES:=1000}" "${LR:=0.001}" "${CHOOSE:=first}"
    : "${BEAMS:=3,25}" "${LABELLED:=100000}" "${PER_CELL:=5}"
    local settings="$ROUNDS $SIZE $UPDATES $LR $CHOOSE $BEAMS $LABELLED $PER_CELL"
    if [ "$(cat "$out/settings" 2>/dev/null || echo "$settings")" != "$settings" ]; then
        echo "$0: $out was begun with other settings, $(cat "$out/settings"); name another folder" >&2
        exit 1
    fi
    echo "$settings" >"$out/settings"
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
    pairs train "$example" "${options[@]}" --size "$LABELLED" --seed 1
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

# ceiling MODEL NAME: whether one of a model's first 25 answers is right, which no choice among them
# can surpass.
ceiling() {
    [ -f "$out/$2.top.json" ] || sit evaluate top-n "$data/grid" --semantics "$example" \
        --path "$1" --max-len-b "$most" --n 1,25 --training-length "$longest" \
        --full-brightness 5 --result "$out/$2.top.json" >"$out/$2.top.log" 2>&1 ||
        { tail -n 1 "$out/$2.top.log" >&2; exit 1; }
}

# table_of_rounds: what is measured so far.
table_of_rounds() {
    python - "$out" <<'PYTHON'
import json, os, sys
from sit_fairseq.evaluation.result_file import markdown_table

folder = sys.argv[1]
head = ["round", "in the box", "outside", "heat map", "outside, one of 25", "verified of those tried"]
rows = [head]

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

for number in (*range(100), "control"):
    name = number if number == "control" else f"round{number}"
    if os.path.exists(os.path.join(folder, f"{name}.grid.json")):
        cells = [share(f"{name}.test.json", "correct")]
        cells += [share(f"{name}.grid.json", part) for part in ("outside_box", "overall")]
        cells.append(share(f"{name}.top.json", "25", "outside_box"))
        cells.append("—" if name == number else share(f"harvest{number + 1}.json", "verified"))
        rows.append([number if name != number else "none: as many updates of labelled data", *cells])
print("\n" + markdown_table(rows))
PYTHON
}

# continued NAME BINARISED BEGUN UPDATES FROM...: training up to BEGUN + UPDATES; FROM are overrides that
# say where it begins. The learning rate falls over all rounds.
continued() {
    local name=$1 binarised=$2 begun=$3 updates=$4 from=("${@:5}")
    [ -f "$out/$name/checkpoint_last.pt" ] && from=()
    train "$name" "$binarised" "${from[@]}" optimization.lr="[$LR]" \
        optimization.max_update=$((begun + updates)) optimization.stop_time_hours=0 \
        lr_scheduler.warmup_updates=$((begun + 100)) \
        ++lr_scheduler.lr_period_updates=$((ROUNDS * UPDATES)) ++task.length_ramp_updates=0 \
        ++task.length_ramp_start=null
}

# self_training: the rounds, from base on, and for comparison as many updates of labelled data alone.
# A model that was shipped has no state of its optimizer, which then begins afresh.
self_training() {
    local model=$base round begun first from state
    read -r begun state < <(python - "$model" <<'PYTHON'
import sys
from sit_fairseq.conversion.reading import read_state

found = read_state(sys.argv[1])
print(found["optimizer_history"][-1]["num_updates"], int("last_optimizer_state" in found))
PYTHON
    )
    first=("checkpoint.restore_file='$(realpath "$model")'" checkpoint.reset_dataloader=true
        checkpoint.reset_meters=true checkpoint.reset_lr_scheduler=true)
    [ "$state" = 1 ] || { first+=(checkpoint.reset_optimizer=true); begun=0; }
    from=("${first[@]}")
    measured "$model" round0
    ceiling "$model" round0
    for round in $(seq "$ROUNDS"); do
        step "round $round: formulas, answers, training"
        untried "$round"
        [ -f "$out/harvest$round.json" ] || sit harvest "$data/untried$round.src" \
            "$out/harvest$round" --path "$model" --semantics "$example" --verify-beams "$BEAMS" \
            --choose "$CHOOSE" --max-len-b "$most" ||
            [ -f "$out/harvest$round.json" ]
        mixed "$round"
        binarise "$out/bin$round" --trainpref "$data/mixed$round" --validpref "$data/valid"
        continued "model$round" "bin$round" "$begun" $((round * UPDATES)) "${from[@]}"
        model=$out/model$round/checkpoint_last.pt
        from=("checkpoint.restore_file='$model'" checkpoint.reset_dataloader=true
            checkpoint.reset_meters=true)
        measured "$model" "round$round"
        table_of_rounds
    done
    step "as many updates of labelled data alone"
    binarise "$out/bin0" --trainpref "$data/train" --validpref "$data/valid"
    continued control bin0 "$begun" $((ROUNDS * UPDATES)) "${first[@]}"
    measured "$out/control/checkpoint_last.pt" control
    table_of_rounds
}
