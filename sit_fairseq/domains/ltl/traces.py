"""Linear temporal logic: formulas and symbolic traces.

A symbolic trace is a lasso of steps, each a Boolean formula in prefix notation that says what is
known about one moment: ``a ; & a b ; { b }`` is a, then a and b, then b for ever. DeepLTL writes
the same without the spaces.
"""

import re
from typing import List, NamedTuple, Sequence, Tuple

from sit_fairseq.domains.formulas.infix import infix
from sit_fairseq.domains.formulas.syntax import (
    ARITY,
    CYCLE_END,
    CYCLE_START,
    SEPARATOR,
    TRACE_MARKS,
    check_formula,
    conjuncts,
    fold,
    formula_symbols,
)
from sit_fairseq.domains.prop.propositional import check_propositional
from sit_fairseq.errors import MalformedAnswer, MalformedFormula

Step = Tuple[str, ...]


class Trace(NamedTuple):
    """A symbolic trace: steps, each the tokens of a Boolean formula, then those that repeat for
    ever, at least one."""

    prefix: Tuple[Step, ...]
    cycle: Tuple[Step, ...]

    @property
    def steps(self) -> Tuple[Step, ...]:
        """All steps in order, those of the cycle once."""
        return self.prefix + self.cycle

    @property
    def tokens(self) -> List[str]:
        """The trace as it is written in a data set."""
        before = [token for step in self.prefix for token in (*step, SEPARATOR)]
        cycle = [token for step in self.cycle for token in (SEPARATOR, *step)][1:]
        return [*before, CYCLE_START, *cycle, CYCLE_END]

    @property
    def symbols(self) -> List[str]:
        """Each symbol once, in order of first appearance."""
        return formula_symbols([token for step in self.steps for token in step])

    def infix(self) -> str:
        """The trace for people, and in the notation of Spot: ``a; a & b; cycle{b}``."""
        cycle = "; ".join(map(infix, self.cycle))
        return "; ".join([*map(infix, self.prefix), f"cycle{{{cycle}}}"])


def check_ltl(tokens: Sequence[str]) -> None:
    """Raises MalformedFormula unless tokens are one formula without a token of traces."""
    check_formula(tokens)
    for token in TRACE_MARKS:
        if token in tokens:
            raise MalformedFormula(f"'{token}' belongs to traces, not to formulas")


def parse_trace(tokens: Sequence[str]) -> Trace:
    """Reads the tokens of a symbolic trace; raises MalformedAnswer if they are none."""
    if not tokens:
        raise MalformedAnswer("the trace is empty")
    tokens = list(tokens)
    for token, name in ((CYCLE_START, "start"), (CYCLE_END, "end")):
        if tokens.count(token) != 1:
            raise MalformedAnswer(
                f"a trace has one '{token}', the {name} of its cycle, not {tokens.count(token)}"
            )
    start = tokens.index(CYCLE_START)
    if tokens[-1] != CYCLE_END:
        raise MalformedAnswer(f"a trace ends with its cycle, at '{CYCLE_END}'")
    if start and tokens[start - 1] != SEPARATOR:
        raise MalformedAnswer(f"'{SEPARATOR}' is missing before '{CYCLE_START}'")
    prefix = _split(tokens[: start - 1]) if start else ()
    trace = Trace(prefix, _split(tokens[start + 1 : -1]))
    for number, step in enumerate(trace.steps, start=1):
        try:
            check_propositional(step)
        except MalformedFormula as error:
            raise MalformedAnswer(f"step {number}: {error}")
    return trace


def same_trace(answer: str, target: str) -> bool:
    """Whether two traces are equal up to swapping the two operands of any ``&`` or ``|``, but not
    regrouping them (DeepLTL, Hahn et al. 2021): ``& a & b c`` equals ``& & c b a`` and not ``& b & a
    c``. What is no trace is compared token by token."""
    try:
        first, second = parse_trace(answer.split()), parse_trace(target.split())
    except MalformedAnswer:
        return answer.split() == target.split()
    return all(list(map(_ordered, a)) == list(map(_ordered, b)) for a, b in zip(first, second))


def _ordered(step: Step) -> str:
    """A step with the operands of commutative operators in the order of their text."""

    def combine(token: str, operands: List[str]) -> str:
        return " ".join([token, *(sorted(operands) if token in ("&", "|") else operands)])

    return fold(step, combine)


def trace_text(tokens: Sequence[str]) -> str:
    """A trace for people: ``a; then for ever: b & !c``."""
    trace = parse_trace(tokens)
    first, cycle = (list(map(_moment_text, part)) for part in trace)
    again = "for ever" if len(cycle) == 1 else "again and again"
    then = "then " if first else ""
    return "; ".join([*first, f"{then}{again}: {'; '.join(cycle)}"])


def _moment_text(step: Sequence[str]) -> str:
    """The condition at one moment, its conjuncts side by side: ``a & !b & (c | d)``."""
    if step == ("1",):
        return "anything"
    parts = conjuncts(step)
    if len(parts) == 1:
        return infix(step)
    return " & ".join(f"({infix(p)})" if ARITY.get(p[0]) == 2 else infix(p) for p in parts)


def _split(tokens: Sequence[str]) -> Tuple[Step, ...]:
    """Splits at separators; n of them make n + 1 steps, empty ones included."""
    steps = re.split(rf"(?<!\S){SEPARATOR}(?!\S)", " ".join(tokens))
    return tuple(tuple(step.split()) for step in steps)
