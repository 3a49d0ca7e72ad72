"""Is one of the first n answers right? (appendix "Top-N Accuracy" of the paper)"""

from typing import Any, Dict, List, Sequence

from sit_fairseq.evaluation import plots
from sit_fairseq.evaluation.proportion import Proportion
from sit_fairseq.judging.verdict import Verdict


def measure_top_n(
    verdicts: Sequence[Sequence[Verdict]], ns: Sequence[int]
) -> Dict[str, Proportion]:
    """Counts sentences that have a right answer among the first n.

    The paper decodes anew with a beam of n; here the beam is as wide as the largest n, and
    the others are read off its ranking.

    Args:
        verdicts: of the answers to each sentence, best answer first.
        ns: how many to look at.

    Returns:
        A proportion of all sentences for each n.
    """
    return {
        str(n): Proportion(
            sum(Verdict.satisfied in ranked[:n] for ranked in verdicts), len(verdicts)
        )
        for n in sorted(ns)
    }


def top_n_table(result: Dict[str, Proportion]) -> List[List[Any]]:
    """The rows of a table for people."""
    rows = [["first n", "sentences", "share and 95 % interval"]]
    for n, found in result.items():
        rows.append([n, found.count, found])
    return rows


def draw_top_n(result: Dict[str, Proportion], path: str) -> None:
    """Draws the shares with their 95 % intervals.

    Args:
        result: of :func:`measure_top_n`.
        path: the PNG file to write.
    """
    figure = plots.new_figure(4.5, 3.2)
    axes = figure.add_subplot()
    places, shares, below, above = range(len(result)), [], [], []
    for found in result.values():
        low, high = found.interval()
        shares.append(100 * found.share)
        below.append(100 * max(0.0, found.share - low))
        above.append(100 * max(0.0, high - found.share))
    axes.errorbar(places, shares, yerr=(below, above), fmt="o-", capsize=4)
    axes.set_xticks(places, list(result))
    axes.set_xlabel("answers looked at (N)")
    axes.set_ylabel("one of them correct (%)")
    axes.grid(alpha=0.3)
    plots.save_png(figure, path)
