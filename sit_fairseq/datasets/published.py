"""Reading the files that others have published: pairs of lines, and heat maps.

Both are in compact notation. A file of pairs, as of DeepLTL, has two lines per sample, the
formula and then its trace or assignment. A heat map has one JSON object per line, with the
number of symbols and the length of the formula::

    {"symbols": 2, "length": 4, "formula": "&!ab", "trace": "&!ab;{1}"}
    {"symbols": 1, "length": 2, "formula": "!a", "assignment": "a0"}
"""

import json
from typing import Any, Dict, Iterator, List, NamedTuple, Sequence, Tuple, Union

from sit_fairseq.logic.ltl import MalformedTrace, check_ltl, parse_trace
from sit_fairseq.logic.propositional import (
    MalformedAssignment,
    check_propositional,
    parse_assignment,
)
from sit_fairseq.logic.reading import compact_tokens
from sit_fairseq.logic.syntax import MalformedFormula, formula_symbols, read_sentences

# What an answer is called, by semantics.
ANSWERS: Dict[str, str] = {"prop": "assignment", "ltl": "trace"}


class PublishedSample(NamedTuple):
    """A formula and its answer, as lists of tokens."""

    formula: List[str]
    answer: List[str]


class BadLine(NamedTuple):
    """A line that cannot be read.

    Attributes:
        number: its number in the file, from 1.
        reason: what is wrong with it.
        text: the line.
    """

    number: int
    reason: str
    text: str


class Unreadable(ValueError):
    """A text that is not what its place asks for; the message says why."""


def read_formula(text: str, semantics: str) -> List[str]:
    """Reads a formula in compact notation.

    Args:
        text: the formula.
        semantics: a key of ``ANSWERS``.

    Returns:
        Its tokens.

    Raises:
        Unreadable: it is not one.
    """
    if not text.strip():
        raise Unreadable("it is blank")
    try:
        tokens = compact_tokens(text)
        check_ltl(tokens)
        if semantics == "prop":
            check_propositional(tokens)
    except MalformedFormula as error:
        raise Unreadable(f"the formula was expected, but {error}")
    return tokens


def read_answer(text: str, formula: Sequence[str], semantics: str) -> List[str]:
    """Reads the answer to a formula in compact notation.

    Args:
        text: a trace or an assignment.
        formula: the tokens of the formula.
        semantics: a key of ``ANSWERS``.

    Returns:
        Its tokens.

    Raises:
        Unreadable: it is not one, or has a symbol that the formula has not.
    """
    if not text.strip():
        raise Unreadable("it is blank")
    try:
        tokens = compact_tokens(text)
        if semantics == "prop":
            symbols = [name for name, _ in parse_assignment(tokens)]
        else:
            symbols = parse_trace(tokens).symbols
    except (MalformedFormula, MalformedAssignment, MalformedTrace) as error:
        raise Unreadable(f"the {ANSWERS[semantics]} was expected, but {error}")
    strangers = sorted(set(symbols) - set(formula_symbols(formula)))
    if strangers:
        raise Unreadable(f"the symbol '{strangers[0]}' is not in the formula")
    return tokens


def read_published_pairs(path: str, semantics: str) -> Iterator[Union[PublishedSample, BadLine]]:
    """Reads a file of two lines per sample; blank lines at its end do not count.

    A line that cannot be read does not bring the others out of step: no answer can be read
    as a formula.

    Args:
        path: the file.
        semantics: a key of ``ANSWERS``.

    Yields:
        The samples, and the lines that cannot be read, in order.

    Raises:
        UserError: the file cannot be opened, or is no text.
    """
    lines = read_sentences(path)
    while lines and not lines[-1].strip():
        lines.pop()
    index = 0
    while index < len(lines):
        try:
            formula = read_formula(lines[index], semantics)
        except Unreadable as error:
            yield BadLine(index + 1, str(error), lines[index])
            index += 1
            continue
        if index + 1 == len(lines):
            reason = f"the file ends before the {ANSWERS[semantics]} of this formula"
            yield BadLine(index + 1, reason, lines[index])
            return
        try:
            yield PublishedSample(formula, read_answer(lines[index + 1], formula, semantics))
            index += 2
        except Unreadable as error:
            yield BadLine(index + 2, str(error), lines[index + 1])
            # The formula of the next sample, if the answer itself is what is missing.
            index += 1 if _is_formula(lines[index + 1], semantics) else 2


def _is_formula(text: str, semantics: str) -> bool:
    try:
        read_formula(text, semantics)
    except Unreadable:
        return False
    return True


def read_heat_map(path: str, semantics: str) -> Iterator[Union[PublishedSample, BadLine]]:
    """Reads a heat map of one JSON object per line.

    Args:
        path: the file.
        semantics: a key of ``ANSWERS``.

    Yields:
        The samples, and the lines that cannot be read, in order.

    Raises:
        UserError: the file cannot be opened, or is no text.
    """
    for number, line in enumerate(read_sentences(path), start=1):
        try:
            yield _read_entry(line, semantics)
        except Unreadable as error:
            yield BadLine(number, str(error), line)


def _read_entry(line: str, semantics: str) -> PublishedSample:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        raise Unreadable("it is not JSON")
    types: Tuple[Tuple[str, type], ...] = (
        ("symbols", int),
        ("length", int),
        ("formula", str),
        (ANSWERS[semantics], str),
    )
    values: List[Any] = []
    for name, kind in types:
        if not isinstance(entry, dict) or type(entry.get(name)) is not kind:
            what = "number" if kind is int else "text"
            raise Unreadable(f'it is not an object in which "{name}" is a {what}')
        values.append(entry[name])
    n_symbols, length, text, answer = values
    formula = read_formula(text, semantics)
    if n_symbols != len(formula_symbols(formula)):
        raise Unreadable(
            f"the formula has {len(formula_symbols(formula))} symbols, not {n_symbols}"
        )
    # The published heat maps count characters, so that xor has length 3.
    if length not in (len(formula), len("".join(formula))):
        raise Unreadable(f"the formula has {len(formula)} tokens, not {length}")
    return PublishedSample(formula, read_answer(answer, formula, semantics))
