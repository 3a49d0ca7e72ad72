"""Draws correct answers by the number of symbols, and what streams cost beside a plain transformer.

    python -m examples.paper.by_symbols OUT.png benchmark.json runs/Normal/{Proposed,Baseline}/seed1/heat_map.json

The heat maps are results of a table's runs; ``scripts/benchmark/run.py`` writes ``benchmark.json``, whose
part *places* is drawn below.
"""

import json
from collections import Counter
from pathlib import Path

from examples.script import run
from sit_fairseq.errors import UserError
from sit_fairseq.evaluation.plots import new_figure, save_png
from sit_fairseq.evaluation.proportion import Proportion
from sit_fairseq.evaluation.result_file import read_result

# What a run's model is called in the figure, in the order of the legend.
NAMES = {
    "Proposed": "streams",
    "Alpha-renaming": "alpha-renaming",
    "Random embedding": "random embeddings",
    "Baseline": "plain",
    "Canonical renaming": "canonical renaming",
}
PLACES = {"package": "all", "own places": "own", "read places": "read"}


def main(out: str, benchmark: str, *paths: str) -> None:
    """Draws both, one above the other."""
    found = {path.absolute().parts[-3].replace("_", " "): path for path in map(Path, paths)}
    if not paths or len(found) < len(paths) or not found.keys() <= NAMES.keys():
        raise UserError(f"name one file of each model; models are {', '.join(NAMES)}")
    figure = new_figure(6.0, 5.2)
    axes, cost = figure.subplots(2, 1, height_ratios=(2, 1))
    for name, label in NAMES.items():
        if name not in found:
            continue
        result = read_result(str(found[name]))["result"]
        count, correct = Counter(), Counter()
        for cell in result["cells"]:
            count[cell["symbols"]] += cell["count"]
            correct[cell["symbols"]] += cell["correct"]
        sizes = sorted(size for size in count if size and count[size])
        shares = [Proportion(correct[size], count[size]) for size in sizes]
        heights = [100 * share.share for share in shares]
        low, high = zip(*(share.interval() for share in shares))
        whiskers = [
            [h - 100 * one for h, one in zip(heights, low)],
            [100 * one - h for h, one in zip(heights, high)],
        ]
        axes.errorbar(sizes, heights, whiskers, label=label, marker="o", capsize=2, linewidth=1.5)
    axes.axvspan(0.5, result["box"]["symbols"] + 0.5, color="0.9", zorder=0)
    axes.text(0.6, 3, "in training", color="0.4")
    axes.set_xlabel("different symbols in a formula")
    axes.set_ylabel("correct answers, %")
    axes.set_xlim(0.5, max(sizes) + 0.5)
    axes.set_ylim(0, 102)
    axes.legend(fontsize="small")
    _draw_cost(cost, json.loads(Path(benchmark).read_text(encoding="utf-8"))["places"])
    save_png(figure, out)


def _draw_cost(axes, times) -> None:
    """Bars for each data set: the time of a training step over that of fairseq's transformer."""
    for place, (kind, label) in enumerate(PLACES.items()):
        ratios = [of["training"][kind] / of["training"]["stock"] for of in times.values()]
        axes.bar([n + 0.27 * (place - 1) for n in range(len(times))], ratios, 0.25, label=label)
    axes.axhline(1.0, color="0.4", linewidth=1.0)
    axes.set_xticks(range(len(times)), [name.removeprefix("prop, ") for name in times])
    axes.set_ylabel("training time / plain")
    axes.set_ylim(0, 1.4 * axes.get_ylim()[1])
    axes.legend(
        fontsize="small", title="--stream-places", title_fontsize="small", ncols=3, loc="upper left"
    )


if __name__ == "__main__":
    run(main)
