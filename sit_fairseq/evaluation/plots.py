"""Figures in files. The only place that imports matplotlib, which is optional."""

import logging
from importlib.util import find_spec

from sit_fairseq.errors import UserError
from sit_fairseq.storage.files import partial_files


def require_matplotlib() -> None:
    """Checks that figures can be drawn, before anything else is done.

    Raises:
        UserError: matplotlib is not installed.
    """
    if find_spec("matplotlib") is None:
        raise UserError("Figures need matplotlib, which is not installed: pip install matplotlib.")


def new_figure(width: float, height: float):
    """An empty figure.

    Args:
        width: in inches.
        height: in inches.

    Returns:
        A ``matplotlib.figure.Figure``, which needs no window.
    """
    # fairseq has the root logger print everything, down to matplotlib's search for fonts.
    logging.getLogger("matplotlib").setLevel(logging.WARNING)
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def color_map(name: str):
    """A colour map of matplotlib: from arrays of numbers in [0, 1] to RGBA in [0, 1]."""
    from matplotlib import colormaps

    return colormaps[name]


def add_color_bar(figure, axes, name: str, label: str, lowest: float = 0.0) -> None:
    """Shows what the colours between a lowest number and 1 mean.

    Args:
        figure: the figure.
        axes: what it is put beside.
        name: the colour map.
        label: what is shown.
        lowest: what the first colour means.
    """
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    scale = ScalarMappable(Normalize(lowest, 1.0), color_map(name))
    figure.colorbar(scale, ax=axes, label=label, pad=0.01)


def save_png(figure, path: str, option: str = "--result") -> None:
    """Writes a figure; a file that was there is replaced.

    Args:
        figure: the figure.
        path: the file.
        option: what names it, for messages.

    Raises:
        UserError: it cannot be written.
    """
    try:
        with partial_files(path) as (partial,):
            figure.savefig(partial, format="png", dpi=150)
    except OSError as error:
        raise UserError(f"Cannot write {path}: {error.strerror}; change {option}.")
