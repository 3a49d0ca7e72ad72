"""The reference judge of propositional logic: a SAT solver through py-aiger.

Only this file imports py-aiger and py-aiger-sat, when they are needed.
"""

import logging
import operator
from importlib.util import find_spec
from typing import Any, Callable, Dict, List, Optional, Sequence

from sit_fairseq.domains.formulas.syntax import canonical_names, fold
from sit_fairseq.domains.prop.judges import PropJudge
from sit_fairseq.domains.prop.propositional import assignment_text
from sit_fairseq.judging.signature import versions_of
from sit_fairseq.judging.verdict import Verdict

logger = logging.getLogger(__name__)

# py-aiger-sat alone does not install: python-sat publishes only pre-releases, which pip
# skips unless one is named.
INSTALL_HINT = "pip install py-aiger-sat python-sat==1.9.dev17"

_OPERATIONS: Dict[str, Callable] = {
    "!": operator.invert,
    "&": operator.and_,
    "|": operator.or_,
    "xor": operator.xor,
    "<->": operator.eq,  # py-aiger's spelling of equivalence
    "->": lambda left, right: left.implies(right),
}


def aiger_installed() -> bool:
    """Whether py-aiger-sat can be imported."""
    return find_spec("aiger_sat") is not None


def _circuit(formula: Sequence[str]) -> Any:
    """The circuit of a well-formed formula; RecursionError if it is too deep for py-aiger, which
    refuses some names of symbols."""
    import aiger

    leaves = {"0": aiger.atom(False), "1": aiger.atom(True)}
    leaves.update((symbol, aiger.atom(wire)) for symbol, wire in canonical_names(formula).items())
    return fold(formula, lambda t, operands: _OPERATIONS[t](*operands) if operands else leaves[t])


def aiger_answer(formula: Sequence[str]) -> Optional[str]:
    """Labels a formula by the rule of PropRandom35 (DeepLTL, Hahn et al. 2021), as in a data set.

    A model found by the solver is reduced to an UNSAT core of the negated formula with the model's
    literals as assumptions, sorted by the name of the symbol. Neither is canonical: py-aiger names
    its wires at random, so the same formula can get different labels at different times. Empty for
    a tautology, None if unsatisfiable; a RecursionError if the formula is too deep for py-aiger.
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
    wires = sorted(canonical_names(formula).items())
    return assignment_text((name, int(core[wire])) for name, wire in wires if wire in core)


class AigerJudge(PropJudge):
    """Asks the solver for a counterexample that agrees with the answer."""

    name = "aiger"

    def __init__(self) -> None:
        if not aiger_installed():
            self.missing = INSTALL_HINT
            logger.warning("The aiger judge needs py-aiger-sat: %s", INSTALL_HINT)

    def versions(self) -> Dict[str, Optional[str]]:
        return versions_of(["py-aiger", "py-aiger-sat", "python-sat"])

    def implies(self, formula: List[str], assignment: Dict[str, str]) -> Verdict:
        if self.missing:
            return Verdict.unavailable
        import aiger_sat

        wires = canonical_names(formula)
        assumptions = {wires[symbol]: value == "1" for symbol, value in assignment.items()}
        try:
            solver = aiger_sat.SolverWrapper()
            solver.add_expr(~_circuit(formula))
            counterexample = solver.is_sat(assumptions=assumptions)
        except RecursionError:
            return Verdict.error
        return Verdict.violated if counterexample else Verdict.satisfied

    def satisfiable(self, formula: List[str]) -> Optional[bool]:
        import aiger_sat

        try:
            return aiger_sat.solve(_circuit(formula)) is not None
        except RecursionError:
            return None
