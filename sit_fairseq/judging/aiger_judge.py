"""The reference judge of propositional logic: a SAT solver through py-aiger.

The only file that imports py-aiger and py-aiger-sat, and only when they are needed.
"""

import logging
from importlib.util import find_spec
from typing import Dict, List, Optional, Sequence, Tuple

from sit_fairseq.judging.judge import PropJudge
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.logic.syntax import formula_symbols

logger = logging.getLogger(__name__)

# py-aiger-sat alone does not install: python-sat publishes only pre-releases, which pip
# skips unless one is named.
INSTALL_HINT = "pip install py-aiger-sat python-sat==1.9.dev17"


def aiger_installed() -> bool:
    """Whether py-aiger-sat can be imported."""
    return find_spec("aiger_sat") is not None


def _wire(index: int) -> str:
    """The circuit input of the symbol at an index: py-aiger refuses some names."""
    return f"s{index}"


def _circuit(formula: Sequence[str]):
    """Builds the circuit of a well-formed formula from its leaves up."""
    import aiger

    leaves = {"0": aiger.atom(False), "1": aiger.atom(True)}
    for index, symbol in enumerate(formula_symbols(formula)):
        leaves[symbol] = aiger.atom(_wire(index))
    stack = []
    for token in reversed(formula):
        if token in leaves:
            stack.append(leaves[token])
            continue
        left = stack.pop()
        if token == "!":
            stack.append(~left)
            continue
        right = stack.pop()
        if token == "&":
            stack.append(left & right)
        elif token == "|":
            stack.append(left | right)
        elif token == "xor":
            stack.append(left ^ right)
        elif token == "<->":
            stack.append(left == right)  # py-aiger's spelling of equivalence
        else:
            stack.append(left.implies(right))
    return stack[0]


def aiger_assignment(formula: Sequence[str]) -> Optional[List[Tuple[str, int]]]:
    """Labels a formula by the rule of PropRandom35 (DeepLTL, Hahn et al. 2021).

    A model found by the solver is reduced to an UNSAT core of the negated formula with
    the model's literals as assumptions, sorted by the name of the symbol. Neither is
    canonical: py-aiger names its wires at random, so the same formula can get different
    labels at different times.

    Args:
        formula: the tokens of a well-formed propositional formula.

    Returns:
        ``(symbol, value)`` pairs, empty for a tautology; None if unsatisfiable.

    Raises:
        RecursionError: the formula is too deep for py-aiger.
    """
    import aiger_sat

    circuit = _circuit(formula)
    model = aiger_sat.solve(circuit)
    if model is None:
        return None
    solver = aiger_sat.SolverWrapper()
    solver.add_expr(~circuit)
    solver.is_sat(assumptions=model)
    core = solver.get_unsat_core()
    return sorted(
        (symbol, int(core[_wire(index)]))
        for index, symbol in enumerate(formula_symbols(formula))
        if _wire(index) in core
    )


class AigerJudge(PropJudge):
    """Asks the solver for a counterexample that agrees with the answer."""

    name = "aiger"

    def __init__(self) -> None:
        self._installed = aiger_installed()
        if not self._installed:
            logger.warning("The aiger judge needs py-aiger-sat: %s", INSTALL_HINT)

    def missing(self) -> Optional[str]:
        return None if self._installed else INSTALL_HINT

    def decide(self, formula: Sequence[str], assignment: Dict[str, str]) -> Verdict:
        if not self._installed:
            return Verdict.unavailable
        import aiger_sat

        assumptions = {
            _wire(index): assignment[symbol] == "1"
            for index, symbol in enumerate(formula_symbols(formula))
            if symbol in assignment
        }
        try:
            solver = aiger_sat.SolverWrapper()
            solver.add_expr(~_circuit(formula))
            counterexample = solver.is_sat(assumptions=assumptions)
        except RecursionError:
            logger.debug("too deep for py-aiger: %s", " ".join(formula))
            return Verdict.error
        return Verdict.violated if counterexample else Verdict.satisfied
