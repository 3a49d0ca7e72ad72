"""The table of experiments."""

import statistics
from typing import Any, Dict, List, Optional, Sequence, Tuple

from sit_fairseq.errors import UserError
from sit_fairseq.evaluation.experiments.specification import Specification

# The result of each measurement of a run, by its name; None if the run failed.
Results = Optional[Dict[str, Dict[str, Any]]]


def value_at(result: Dict[str, Any], path: str) -> Optional[float]:
    """The number at a dotted path of a result, None if it is known that there is none.

    Raises:
        UserError: there is no number.
    """
    value: Any = result
    for key in path.split("."):
        if not isinstance(value, dict) or key not in value:
            raise UserError(f"A column asks for {path!r}, which the measurement does not have.")
        value = value[key]
    if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float))):
        raise UserError(f"A column asks for {path!r}, which is no number; name a part of it.")
    return value


def cell(values: Sequence[Optional[float]], share: bool = True) -> str:
    """A percentage or plain number; of several seeds the mean, and the least and the greatest."""
    factor, unit = (100, " %") if share else (1, "")
    known = [factor * value for value in values if value is not None]
    if not known:
        return "—"
    if not share and all(isinstance(value, int) and value == known[0] for value in known):
        return f"{known[0]:,}"
    if len(known) == 1:
        return f"{known[0]:.2f}{unit}"
    mean = f"{statistics.mean(known):.2f}{unit}"
    return f"{mean} ({min(known):.2f}–{max(known):.2f})"


def check_columns(specification: Specification, results: Dict[str, Dict[str, Any]]) -> None:
    """Refuses columns that ask for what measurements do not have.

    Args:
        specification: has the columns.
        results: of one run.

    Raises:
        UserError: naming the column's path.
    """
    for measurement, column in specification.columns:
        if measurement.name in results:
            value_at(results[measurement.name], column.path)


def experiments_table(specification: Specification, results: Sequence[Results]) -> List[List[str]]:
    """The rows of the table, conditions and models down, columns of measurements across.

    Args:
        specification: what was run.
        results: of each run.

    Returns:
        The cells, the head first.
    """
    columns = specification.columns
    rows = [[*specification.heading, *(column.title for _, column in columns)]]
    groups: Dict[Tuple[str, str], List[Dict[str, Any]]] = {}
    for run, result in zip(specification.runs, results):
        groups.setdefault((run.condition, run.model), []).append(result or {})
    for key, found in groups.items():
        cells = [
            cell(
                [
                    value_at(result[measurement.name], column.path)
                    for result in found
                    if measurement.name in result
                ],
                column.share,
            )
            for measurement, column in columns
        ]
        rows.append([*key, *cells])
    return rows
