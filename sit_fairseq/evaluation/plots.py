"""Figures in files. The only place that imports matplotlib, which is optional."""

import logging
import math
from typing import Any, Dict, Mapping, Sequence

import numpy

from sit_fairseq.errors import missing
from sit_fairseq.evaluation.proportion import Proportion
from sit_fairseq.storage.files import partial_files

# Colours that the colour-blind tell apart and that a printer keeps in order.
_COLORS = "viridis"

# Inches: 1050 pixels, which a README shows at its full width.
_WIDTH = 7.0


def require_matplotlib() -> None:
    """Raises a UserError, before anything else is done, if matplotlib is not installed."""
    try:
        import matplotlib  # noqa: F401
    except ModuleNotFoundError as error:
        raise missing(error)


def new_figure(width: float, height: float):
    """An empty ``matplotlib.figure.Figure``, which needs no window, of so many inches."""
    # fairseq has the root logger print everything, down to matplotlib's search for fonts.
    logging.getLogger("matplotlib").setLevel(logging.WARNING)
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def save_png(figure, path: str) -> None:
    """Writes a figure as a PNG file; a UserError if it cannot be written."""
    with partial_files(path) as (partial,):
        figure.savefig(partial, format="png", dpi=150)


def draw_heat_maps(results: Mapping[str, Dict[str, Any]], path: str, lowest: float = 0.0) -> None:
    """Draws heat maps, one below the other, each with the box of the training data.

    The colour of a cell is the share of right answers, from ``lowest`` on, and its area in
    proportion to the number of samples. In a grid of every fourth number of symbols and tokens cells
    are four wide and four high, up to their numbers. ``results`` of
    :func:`~sit_fairseq.evaluation.correct.measure_heat_map`, by title, are of one grid.
    """
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    figure = new_figure(_WIDTH, 0.4 + 2.4 * len(results))
    colors = ScalarMappable(Normalize(100 * lowest, 100), _COLORS)
    for place, (title, result) in enumerate(results.items(), start=1):
        axes = figure.add_subplot(len(results), 1, place)
        most = _draw_cells(axes, result["cells"], colors)
        right, top = result["box"]["length"] + 0.5, result["box"]["symbols"] + 0.5
        for color, style, width in (("white", "-", 3), ("black", "--", 1.5)):
            axes.plot([0, right, right], [top, top, -1], color=color, linestyle=style, lw=width)
        axes.set_title(f"{title}: {result['overall']}", fontsize="medium")
        axes.set_ylabel("different symbols")
    notes = "dashed: sizes of the training data; " + (
        f"full cells: {most} samples" if most > 1 else "one sample in each cell"
    )
    axes.set_xlabel(f"length (tokens)\n{notes}")
    bar = {"pad": 0.01, "aspect": 16 * len(results), "extend": "min" if lowest else "neither"}
    figure.colorbar(colors, ax=figure.axes, label="correct (%)", **bar)
    save_png(figure, path)


def _draw_cells(axes, cells: Sequence[Dict[str, int]], colors) -> int:
    """Draws the cells of a heat map, crops it to them and returns the most samples of a cell."""
    tokens, symbols, counts, right = (
        numpy.array([cell[name] for cell in cells], dtype=float)
        for name in ("length", "symbols", "count", "correct")
    )
    steps = [math.gcd(*map(int, numbers - numbers[0])) or 1 for numbers in (tokens, symbols)]
    filled = counts > 0
    tokens, symbols, counts, right = (n[filled] for n in (tokens, symbols, counts, right))
    left = numpy.maximum(0.5, tokens - steps[0] + 0.5)
    bottom = numpy.maximum(-0.5, symbols - steps[1] + 0.5)
    width, height = tokens + 0.5 - left, symbols + 0.5 - bottom
    side = numpy.maximum(0.2, numpy.sqrt(counts / counts.max()))
    axes.bar(
        left + width / 2,
        side * height,
        side * width,
        bottom + (1 - side) * height / 2,
        color=colors.to_rgba(100 * right / counts),
    )
    axes.set_xlim(left.min(), tokens.max() + 0.5)
    axes.set_ylim(bottom.min(), symbols.max() + 0.5)
    axes.locator_params(integer=True, min_n_ticks=1)
    return int(counts.max())


def draw_top_n(result: Mapping[str, Proportion], path: str) -> None:
    """Draws the shares with their 95 % intervals, as a PNG file."""
    figure = new_figure(5.0, 3.4)
    axes = figure.add_subplot()
    shares = numpy.array([[found.share, *found.interval()] for found in result.values()])
    middle, low, high = 100 * shares.T
    errors = numpy.maximum(0.0, [middle - low, high - middle])
    axes.errorbar(range(len(result)), middle, yerr=errors, fmt="o-", capsize=4)
    axes.set_xticks(range(len(result)), list(result))
    total = next(iter(result.values())).total
    axes.set_title(f"A right answer among the first n ({total} sentences)", fontsize="medium")
    axes.set_xlabel("n (answers)")
    axes.set_ylabel("sentences (%), 95 % intervals")
    axes.grid(alpha=0.3)
    save_png(figure, path)
