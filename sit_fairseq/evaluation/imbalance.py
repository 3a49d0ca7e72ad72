"""How many samples have how many symbols (appendix on the imbalance of the LTL data)."""

from typing import Mapping

from sit_fairseq.evaluation import plots


def draw_histograms(counts: Mapping[str, Mapping[int, int]], path: str) -> None:
    """Draws histograms of several data sets beside each other, on one logarithmic scale.

    Args:
        counts: for each data set, by its name, the samples by their number of symbols.
        path: the PNG file to write.
    """
    figure = plots.new_figure(6.5, 3.2)
    axes = figure.add_subplot()
    numbers = sorted(set().union(*counts.values()))
    width = 0.8 / len(counts)
    for place, (name, found) in enumerate(counts.items()):
        left = [number + width * (place - (len(counts) - 1) / 2) for number in numbers]
        bars = axes.bar(left, [found.get(number, 0) for number in numbers], width, label=name)
        axes.bar_label(bars, fontsize="x-small", rotation=90, padding=2)
    axes.set_yscale("log")
    axes.margins(y=0.25)
    axes.set_xticks(numbers)
    axes.set_xlabel("symbols")
    axes.set_ylabel("samples")
    axes.legend()
    plots.save_png(figure, path, "--figure")
