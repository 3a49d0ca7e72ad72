"""Linear temporal logic: formulas and symbolic traces, for machines and for people.

A symbolic trace is a lasso of steps, each a Boolean formula that says what is known about
one moment: ``a ; & a b ; { b }`` is a, then a and b, then b for ever. Every step of the
prefix ends with a semicolon, the braces hold the steps that repeat, and steps are in
prefix notation as formulas are. DeepLTL writes the same without the spaces.
"""

from typing import Dict, List, NamedTuple, Sequence, Tuple

from sit_fairseq.logic.infix import infix, infix_tokens, to_prefix
from sit_fairseq.logic.propositional import check_propositional
from sit_fairseq.logic.syntax import (
    CYCLE_END,
    CYCLE_START,
    SEPARATOR,
    TRACE_MARKS,
    MalformedFormula,
    check_formula,
    formula_symbols,
)

# What stands before the cycle where people read.
_CYCLE_WORD = "cycle"

Step = Tuple[str, ...]


class MalformedTrace(ValueError):
    """A token sequence that is not a symbolic trace; the message says why."""


class Trace(NamedTuple):
    """A symbolic trace.

    Attributes:
        prefix: the steps that come first, each the tokens of a Boolean formula.
        cycle: the steps that then repeat for ever, at least one.
    """

    prefix: Tuple[Step, ...]
    cycle: Tuple[Step, ...]

    @property
    def steps(self) -> Tuple[Step, ...]:
        """All steps in order, those of the cycle once."""
        return self.prefix + self.cycle

    @property
    def tokens(self) -> List[str]:
        """The trace as it is written in a data set."""
        tokens = [token for step in self.prefix for token in (*step, SEPARATOR)]
        tokens.append(CYCLE_START)
        for position, step in enumerate(self.cycle):
            tokens += [SEPARATOR, *step] if position else step
        return tokens + [CYCLE_END]

    @property
    def symbols(self) -> List[str]:
        """Each symbol once, in order of first appearance."""
        return formula_symbols([token for step in self.steps for token in step])

    def infix(self) -> str:
        """The trace for people, and in the notation of Spot: ``a; a & b; cycle{b}``."""
        cycle = "; ".join(map(infix, self.cycle))
        return "; ".join([*map(infix, self.prefix), f"{_CYCLE_WORD}{{{cycle}}}"])


def check_ltl(tokens: Sequence[str]) -> None:
    """Checks that tokens form one LTL formula.

    Args:
        tokens: the tokens.

    Raises:
        MalformedFormula: they are not one complete formula, or hold a token of traces.
    """
    check_formula(tokens)
    for token in TRACE_MARKS:
        if token in tokens:
            raise MalformedFormula(f"'{token}' belongs to traces, not to formulas")


def parse_trace(tokens: Sequence[str]) -> Trace:
    """Reads a symbolic trace.

    Args:
        tokens: its tokens, e.g. ``a ; & a b ; { b }``.

    Returns:
        The trace.

    Raises:
        MalformedTrace: the tokens are not one.
    """
    if not tokens:
        raise MalformedTrace("the trace is empty")
    tokens = list(tokens)
    for token, name in ((CYCLE_START, "start"), (CYCLE_END, "end")):
        if tokens.count(token) != 1:
            raise MalformedTrace(
                f"a trace has one '{token}', the {name} of its cycle, not {tokens.count(token)}"
            )
    start = tokens.index(CYCLE_START)
    if tokens[-1] != CYCLE_END:
        raise MalformedTrace(f"a trace ends with its cycle, at '{CYCLE_END}'")
    if start and tokens[start - 1] != SEPARATOR:
        raise MalformedTrace(f"'{SEPARATOR}' is missing before '{CYCLE_START}'")
    prefix = _split(tokens[: start - 1]) if start else []
    cycle = _split(tokens[start + 1 : -1])
    for number, step in enumerate(prefix + cycle, start=1):
        try:
            check_propositional(step)
        except MalformedFormula as error:
            raise MalformedTrace(f"step {number}: {error}")
    return Trace(tuple(map(tuple, prefix)), tuple(map(tuple, cycle)))


def read_infix_trace(text: str) -> Trace:
    """Reads what :meth:`Trace.infix` writes.

    Parentheses may be left out where operators bind as in :mod:`sit_fairseq.logic.infix`.

    Args:
        text: e.g. ``a; a & !b; cycle{b}``.

    Returns:
        The trace.

    Raises:
        MalformedTrace: the text is not one.
    """
    tokens: List[str] = []
    step: List[str] = []
    try:
        for token in infix_tokens(text):
            if token not in TRACE_MARKS:
                step.append(token)
                continue
            if token == CYCLE_START and step != [_CYCLE_WORD]:
                raise MalformedTrace(f"'{CYCLE_START}' does not follow the word '{_CYCLE_WORD}'")
            if token != CYCLE_START and step:
                tokens += to_prefix(step)
            tokens.append(token)
            step = []
    except MalformedFormula as error:
        raise MalformedTrace(str(error))
    return parse_trace(tokens + step)


def _split(tokens: Sequence[str]) -> List[List[str]]:
    """Splits tokens at separators; n separators make n + 1 steps, empty ones included."""
    steps: List[List[str]] = [[]]
    for token in tokens:
        if token == SEPARATOR:
            steps.append([])
        else:
            steps[-1].append(token)
    return steps


def canonical_names(tokens: Sequence[str]) -> Dict[str, str]:
    """Names for the symbols of a formula that mean nothing to anybody.

    Args:
        tokens: a formula in prefix notation.

    Returns:
        From each symbol to ``p0``, ``p1``, ... by first appearance.
    """
    return {symbol: f"p{index}" for index, symbol in enumerate(formula_symbols(tokens))}


def data_symbols(tokens: Sequence[str]) -> List[str]:
    """Lists the symbols of any sentence of a data set.

    Args:
        tokens: formulas, assignments, traces or strings to be copied.

    Returns:
        Each symbol once, in order of first appearance.
    """
    return [symbol for symbol in formula_symbols(tokens) if symbol not in TRACE_MARKS]
