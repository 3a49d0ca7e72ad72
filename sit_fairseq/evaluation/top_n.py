"""Is one of the first n answers right? (appendix "Top-N Accuracy" of the paper)"""

from typing import Any, Dict, List, Mapping, Sequence

from sit_fairseq.datasets.grid import Cell
from sit_fairseq.datasets.pair_files import read_pairs
from sit_fairseq.errors import UserError
from sit_fairseq.evaluation import plots
from sit_fairseq.evaluation.heat_map import Box, draw_heat_maps, measure_heat_map, read_grid
from sit_fairseq.evaluation.proportion import Proportion
from sit_fairseq.evaluation.run import EvaluationRun
from sit_fairseq.evaluation.settings import Checkpoint, Judging
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.logic.syntax import read_sentences


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


def measure_top_n_by_cell(
    cells: Sequence[Cell], verdicts: Sequence[Sequence[Verdict]], ns: Sequence[int], box: Box
) -> Dict[str, Dict[str, Any]]:
    """Counts the same in each cell of a grid.

    Args:
        cells: of the grid.
        verdicts: of the answers to each of its lines, best answer first.
        ns: how many to look at.
        box: what was trained on.

    Returns:
        For each n what :func:`~sit_fairseq.evaluation.heat_map.measure_heat_map` finds of the
        right answer among the first n, or of the first answer if none is right.
    """
    found = {}
    for n in sorted(ns):
        right = Verdict.satisfied
        of_first = [right if right in ranked[:n] else ranked[0] for ranked in verdicts]
        found[str(n)] = measure_heat_map(cells, of_first, box)
    return found


def top_n_grid_table(result: Mapping[str, Dict[str, Any]]) -> List[List[Any]]:
    """The rows of a table for people."""
    parts = ("inside_box", "outside_box", "overall")
    rows = [["first n", "sentences", *(part.replace("_", " ") for part in parts)]]
    for n, found in result.items():
        rows.append([n, found["overall"].total, *(found[part] for part in parts)])
    return rows


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


def evaluate_top_n(
    run: EvaluationRun, prefix: str, checkpoint: Checkpoint, judging: Judging, ns: Sequence[int]
) -> None:
    """Measures whether one of a model's first answers is right.

    Args:
        run: writes the result file, the figure and the table.
        prefix: the sentences are in ``prefix.src``, references in ``prefix.tgt`` if the judge
            needs them.
        checkpoint: the model to ask; it returns as many answers as the largest n.
        judging: who judges.
        ns: how many answers to look at.

    Raises:
        UserError: a file or an option cannot be used.
    """
    plots.require_matplotlib()
    sources, references = read_sentences(f"{prefix}.src"), None
    run.uses_file(f"{prefix}.src")
    with judging.open(run) as judges:
        if judges.judge.on_references:
            references = [target for _, target in read_pairs(prefix)]
            run.uses_file(f"{prefix}.tgt")
        answered = run.answer(checkpoint.load(run), sources, judges, references)
    result = measure_top_n([entry.verdicts for entry in answered], ns)
    draw_top_n(result, run.beside(".png"))
    run.finish(result, len(sources), top_n_table(result))


def evaluate_top_n_grid(
    run: EvaluationRun,
    folder: str,
    checkpoint: Checkpoint,
    judging: Judging,
    ns: Sequence[int],
    box: Box,
    full: int,
    lowest: float,
) -> None:
    """Measures the same on a grid, and draws a heat map for each n, as the paper does.

    Args:
        run: writes the result file, the figure and the table.
        folder: of the grid.
        checkpoint: the model to ask; it returns as many answers as the largest n.
        judging: who judges.
        ns: how many answers to look at.
        box: what was trained on.
        full: number of samples of a cell of full brightness.
        lowest: the share that has the first colour.

    Raises:
        UserError: a file or an option cannot be used.
    """
    if not 0.0 <= lowest < 1.0:
        raise UserError(f"--lowest {lowest}: it must be at least 0 and less than 1.")
    grid = read_grid(run, folder, full)
    with judging.open(run) as judges:
        answered = run.answer(checkpoint.load(run), grid.sources, judges, grid.targets)
    result = measure_top_n_by_cell(grid.cells, [entry.verdicts for entry in answered], ns, box)
    titles = {
        f"one of the first {n} correct: {found['overall']}": found for n, found in result.items()
    }
    draw_heat_maps(titles, run.beside(".png"), full, lowest)
    run.finish(result, len(answered), top_n_grid_table(result))
