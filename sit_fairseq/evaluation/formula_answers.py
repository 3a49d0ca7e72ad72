"""Answers to formulas as people write them, for ``sit answer``."""

import re
from dataclasses import dataclass
from enum import Enum
from itertools import islice
from pathlib import Path
from typing import Any, Iterable, Iterator, List, Optional, Sequence

import sit_fairseq
from sit_fairseq.errors import UserError
from sit_fairseq.judging.pool import JudgePool
from sit_fairseq.logic.infix import infix, quoted
from sit_fairseq.logic.ltl import parse_trace
from sit_fairseq.logic.propositional import parse_assignment
from sit_fairseq.logic.reading import Reading, read_dimacs, read_formula
from sit_fairseq.logic.syntax import ARITY, CONSTANTS, TRACE_MARKS, MalformedFormula

# What a formula is read over; whatever people call their symbols takes the place afterwards.
_SYMBOL = re.compile(r"\bp(\d+)\b")

_BATCH = 64
_DIMACS = re.compile(r"^p\s+cnf\s", re.MULTILINE)


class Status(str, Enum):
    """What became of a formula."""

    verified = "verified"  # a judge has accepted the answer
    impossible = "no answer exists"  # the judge has proved it
    unverified = "not verified"  # the search found none that the judge accepts
    unreadable = "cannot be read"
    unanswered = "cannot be answered"  # by this model, as it is too long for example


@dataclass(frozen=True)
class FormulaAnswer:
    """A formula and its answer."""

    formula: str  # as it was given
    status: Status
    source: str = ""  # the formula in prefix notation
    answer: str = ""  # as in data sets, if it is verified
    text: str = ""  # the same for people
    reason: str = ""  # why there is no answer


def shipped_model(name: str) -> Path:
    """The folder of a trained model that comes with the package.

    Raises:
        UserError: there is none.
    """
    package = Path(sit_fairseq.__file__).parent
    for folder in (package.parent / "checkpoints" / name, package / "checkpoints" / name):
        if (folder / "model.pt").is_file():
            return folder
    raise UserError(f"no model {name} comes with this installation; name one", "path")


def split_formulas(text: str) -> List[str]:
    """The formulas of a file: one a line, or one in DIMACS."""
    if _DIMACS.search(text):
        return [text]
    return [line.strip() for line in text.splitlines() if line.strip()]


def answer_formulas(
    formulas: Iterable[str], logic: str, model: Any, judges: JudgePool, beams: Sequence[int]
) -> Iterator[FormulaAnswer]:
    """Answers formulas, in order.

    Args:
        formulas: in infix or prefix notation, or DIMACS.
        logic: ``prop`` or ``ltl``.
        model: as ``from_pretrained`` returns it.
        judges: of the logic.
        beams: widths of the search, from narrow to wide.
    """
    rest = iter(formulas)
    while batch := list(islice(rest, _BATCH)):
        read = [_read(formula, logic) for formula in batch]
        known = [one for one in read if isinstance(one, Reading)]
        sources = [" ".join(reading.tokens) for reading in known]
        found = model.translate(sources, verify=logic, verify_beams=beams) if sources else []
        # No answer, or one that is not verified, is false; a right one may be the empty text.
        left = [source for source, answer in zip(sources, found) if type(answer) is not str]
        solvable, answers = iter(judges.solvable(left)), iter(found)
        for formula, one in zip(batch, read):
            if not isinstance(one, Reading):
                yield FormulaAnswer(formula, Status.unreadable, reason=one)
                continue
            answer = next(answers)
            possible = type(answer) is str or next(solvable)
            yield _answered(formula, one, logic, answer, possible)


def _read(formula: str, logic: str) -> Any:
    """A formula, or why it cannot be read."""
    try:
        if _DIMACS.search(formula):
            return read_dimacs(formula)
        return read_formula(formula, temporal=logic == "ltl")
    except MalformedFormula as error:
        return str(error)


def _answered(
    formula: str, reading: Reading, logic: str, answer: Any, possible: Optional[bool]
) -> FormulaAnswer:
    source = " ".join(_word(reading, token) for token in reading.tokens)
    if type(answer) is str:
        tokens = answer.split()
        text = _trace_text(tokens) if logic == "ltl" else _assignment_text(tokens)
        text = _SYMBOL.sub(lambda match: quoted(reading.names[int(match[1])]), text)
        words = " ".join(_word(reading, token) for token in tokens)
        return FormulaAnswer(formula, Status.verified, source, words, text)
    if possible is False:
        status, reason = Status.impossible, "the formula is unsatisfiable"
    elif hasattr(answer, "reason"):
        status, reason = Status.unanswered, answer.reason
    else:
        status, reason = Status.unverified, "no hypothesis of the search was accepted"
    return FormulaAnswer(formula, status, source, reason=reason)


def _word(reading: Reading, token: str) -> str:
    """A token as people call it; names that could be taken for something else are in quotes."""
    match = _SYMBOL.fullmatch(token)
    if match is None:
        return token
    name = reading.names[int(match[1])]
    reserved = name in ARITY or name in CONSTANTS or name in TRACE_MARKS
    return name if re.fullmatch(r"\w[\w.]*", name) and not reserved else quoted(name)


def _trace_text(tokens: List[str]) -> str:
    trace = parse_trace(tokens)
    first, cycle = (["anything" if s == ("1",) else infix(s) for s in part] for part in trace)
    again = "for ever" if len(cycle) == 1 else "again and again"
    then = "then " if first else ""
    return "; ".join([*first, f"{then}{again}: {'; '.join(cycle)}"])


def _assignment_text(tokens: List[str]) -> str:
    pairs = parse_assignment(tokens)
    return " & ".join(f"{'' if value == '1' else '!'}{name}" for name, value in pairs) or "anything"
