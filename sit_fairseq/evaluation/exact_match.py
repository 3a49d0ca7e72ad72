"""Does an answer equal the reference, strictly or up to an order that means nothing?"""

from typing import Callable, Dict, List

from sit_fairseq.domains.formulas.syntax import MalformedAnswer, fold
from sit_fairseq.domains.ltl.traces import Step, parse_trace

_COMMUTATIVE = ("&", "|")


def exact(answer: str, target: str) -> bool:
    """Whether an answer is the reference, token by token."""
    return answer.split() == target.split()


def same_literals(answer: str, target: str) -> bool:
    """Whether two assignments have the same set of literals, as ``a 1 b 0`` and ``b 0 a 1``.

    What has an odd number of tokens has no literals, and is compared token by token.
    """
    first, second = answer.split(), target.split()
    if len(first) % 2 or len(second) % 2:
        return first == second
    return set(zip(first[::2], first[1::2])) == set(zip(second[::2], second[1::2]))


def same_trace(answer: str, target: str) -> bool:
    """Whether two traces are equal up to swapping the two operands of any ``&`` or ``|``.

    As in DeepLTL (Hahn et al. 2021) operands are not regrouped: ``& a & b c`` equals ``& & c b a``
    and not ``& b & a c``. What is no trace is compared token by token.
    """
    try:
        first, second = parse_trace(answer.split()), parse_trace(target.split())
    except MalformedAnswer:
        return exact(answer, target)
    return (len(first.prefix), list(map(_ordered, first.steps))) == (
        len(second.prefix),
        list(map(_ordered, second.steps)),
    )


def _ordered(step: Step) -> str:
    """A step with the operands of commutative operators in the order of their text."""

    def combine(token: str, operands: List[str]) -> str:
        return " ".join([token, *(sorted(operands) if token in _COMMUTATIVE else operands)])

    return fold(step, combine)


# By semantics; where the order of everything counts there is none.
EXACT_MODULO_ORDER: Dict[str, Callable[[str, str], bool]] = {
    "prop": same_literals,
    "ltl": same_trace,
}
