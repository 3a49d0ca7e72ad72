"""Is one of the first n answers right? (appendix "Top-N Accuracy" of the paper)

The paper decodes anew with a beam of n; here the beam is as wide as the largest n, and the others are
read off its ranking.
"""

from typing import Any, Dict, List, Mapping, Sequence

from sit_fairseq.datasets.grid import Cell
from sit_fairseq.evaluation.heat_map import Box, measure_heat_map
from sit_fairseq.evaluation.proportion import Proportion
from sit_fairseq.judging.verdict import Verdict


def best_of(verdicts: Sequence[Sequence[Verdict]], n: int) -> List[Verdict]:
    """The verdict on a right answer among the first n, or on the first answer if none is right.

    Verdicts are of the answers to each sentence, best answer first.
    """
    right = Verdict.satisfied
    return [right if right in ranked[:n] else ranked[0] for ranked in verdicts]


def measure_top_n(
    verdicts: Sequence[Sequence[Verdict]], ns: Sequence[int]
) -> Dict[str, Proportion]:
    """For each n the proportion of sentences with a right answer among the first n."""
    total = len(verdicts)
    return {str(n): Proportion(best_of(verdicts, n).count(Verdict.satisfied), total) for n in ns}


def measure_top_n_by_cell(
    cells: Sequence[Cell], verdicts: Sequence[Sequence[Verdict]], ns: Sequence[int], box: Box
) -> Dict[str, Dict[str, Any]]:
    """For each n the heat map of sentences with a right answer among the first n."""
    return {str(n): measure_heat_map(cells, best_of(verdicts, n), box) for n in ns}


def top_n_table(result: Mapping[str, Proportion]) -> List[List[Any]]:
    """The rows of a table for people, of :func:`measure_top_n`."""
    rows = [["first n", "sentences", "share and 95 % interval"]]
    return rows + [[n, found.total, found] for n, found in result.items()]


def top_n_grid_table(result: Mapping[str, Dict[str, Any]]) -> List[List[Any]]:
    """The rows of a table for people, of :func:`measure_top_n_by_cell`."""
    parts = ("inside_box", "outside_box", "overall")
    rows = [["first n", "sentences", *(part.replace("_", " ") for part in parts)]]
    for n, found in result.items():
        rows.append([n, found["overall"].total, *(found[part] for part in parts)])
    return rows
