"""Draws what number and names of objects do to plans: ``DIR/growth.png`` and ``DIR/names.png``.

    python -m examples.planning.figures DIR [--random R.json]

DIR is that of run.sh and more_blocks/run.sh. ``--random`` is a file of ``examples.planning.growth --path
random``, a dashed line. Below plans are the times of ``examples.planning.times``.
"""

import argparse
import json
from collections import defaultdict
from pathlib import Path
from typing import Dict, List, Optional

from examples.planning.tables import NAMES
from sit_fairseq.evaluation.plots import new_figure, save_png

_COLORS = "#440154", "#31688e", "#35b779", "#d8a800", "#999999"  # of viridis, and grey
_MARKERS = "osD^v"
_TRAINED = 3, 5, 6

# Columns of PlanBench's files, and the folder and file with our result of each.
_FILES = {
    "names as published": "results/blocksworld_600, search.json",
    "Mystery": "results/mystery_600, search.json",
    "random names": "renamed/blocksworld_600, search.json",
}


def shares(path: Path) -> Dict[int, float]:
    """Verified plans in percent, by the number of blocks."""
    found = json.loads(path.read_text(encoding="utf-8"))["result"]["blocks"]
    return {int(size): 100 * one["share"] for size, one in found.items()}


def draw_growth(folder: Path, random: Optional[Path], path: Path) -> None:
    """Draws the means and ranges of seeds by the number of blocks, and below them the times."""
    runs: Dict[str, List[Dict[int, float]]] = defaultdict(list)
    for file in sorted(folder.glob("runs/*/*/seed*/growth.json")):
        runs[file.parts[-3].replace("_", " ")].append(shares(file))
    times = json.loads((folder / "times.json").read_text(encoding="utf-8"))["result"]
    figure = new_figure(7.0, 5.0)
    axes, below = figure.subplots(2, sharex=True, height_ratios=[2.2, 1])
    for each in (axes, below):
        each.axvspan(min(_TRAINED) - 0.5, max(_TRAINED) + 0.5, color="#eeeeee", lw=0)
    axes.text(sum(_TRAINED) / 3, 104, "training: 3, 5 and 6", ha="center", fontsize="small")
    order = sorted(runs, key=lambda name: (name != "Proposed", name))
    for name, color, marker in zip(order, _COLORS, _MARKERS):
        sizes = sorted(runs[name][0])
        columns = [[one[size] for one in runs[name]] for size in sizes]
        means = [sum(column) / len(column) for column in columns]
        axes.fill_between(
            sizes,
            [min(c) for c in columns],
            [max(c) for c in columns],
            color=color,
            alpha=0.15,
            lw=0,
        )
        axes.plot(sizes, means, color=color, marker=marker, ms=4, label=name)
        cost = times[name.replace(" ", "_")]
        below.plot(sizes, [cost[str(size)] for size in sizes], color=color, marker=marker, ms=4)
    if random is not None:
        axes.plot(*zip(*sorted(shares(random).items())), "k--", lw=1, label="random choice")
    below.set_xlabel("blocks of a problem")
    axes.set_ylabel("verified plans (%)")
    below.set_ylabel("an action (CPU ms)")
    below.set_xticks(sizes)
    axes.set_ylim(-3, 112)
    axes.set_yticks(range(0, 101, 20))
    below.set_ylim(0)
    figure.legend(fontsize="small", loc="outside upper center", ncols=3, frameon=False)
    save_png(figure, str(path))


def draw_names(folder: Path, path: Path) -> None:
    """Draws shares under three kinds of names, those of models on PlanBench's board beside ours."""
    found = [json.loads((folder / file).read_text(encoding="utf-8")) for file in _FILES.values()]
    ours = [100 * len(one["plans"]) / one["problems"] for one in found]
    models = {"ours": ours, **{name: list(values) for name, values in NAMES.items()}}
    figure = new_figure(7.0, 3.0)
    axes = figure.add_subplot()
    for place, (title, color) in enumerate(zip(_FILES, (_COLORS[0], _COLORS[1], _COLORS[2]))):
        for at, values in enumerate(models.values()):
            if values[place] is not None:
                x = at + 0.27 * (place - 1)
                axes.bar(x, values[place], 0.25, color=color, label=None if at else title)
                axes.text(
                    x, values[place] + 1, f"{values[place]:.3g}", ha="center", fontsize="x-small"
                )
    titles = [name.replace(" (", "\n(") for name in models]
    axes.set_xticks(range(len(models)), titles, fontsize="small")
    axes.set_ylabel("verified plans (%)")
    axes.set_ylim(0, 112)
    axes.legend(
        fontsize="small", title="PlanBench Blocksworld, 3 to 5 blocks", title_fontsize="small"
    )
    save_png(figure, str(path))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help="has the results")
    parser.add_argument("--random", type=Path, metavar="R.json", help="growth of random choice")
    args = parser.parse_args()
    if list(args.folder.glob("runs/*/*/seed*/growth.json")):
        draw_growth(args.folder, args.random, args.folder / "growth.png")
    if all((args.folder / file).exists() for file in _FILES.values()):
        draw_names(args.folder, args.folder / "names.png")


if __name__ == "__main__":
    main()
