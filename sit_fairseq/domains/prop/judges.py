"""Propositional logic: the rules for its answers, and the fast judge."""

from abc import abstractmethod
from typing import Dict, List, Optional, Sequence

from sit_fairseq.domains.formulas.judge import FormulaJudge
from sit_fairseq.domains.formulas.syntax import formula_symbols
from sit_fairseq.domains.prop import satisfiability
from sit_fairseq.domains.prop.propositional import (
    MAX_VARIABLES,
    check_propositional,
    parse_assignment,
    truth_table,
    without_constants,
)
from sit_fairseq.judging.verdict import Verdict

# The tables of a formula and of its parts are in memory at once: at most 256 MiB.
_MOST_BITS = 1 << 31


class PropJudge(FormulaJudge):
    """The rules common to all judges of propositional logic.

    An answer is a sequence of ``symbol value`` pairs, read as the conjunction of these literals:
    ``a 1 c 0`` says a and not c, and leaves every other symbol open. The verdict is

    * error, if the formula is malformed;
    * invalid, if the answer has an odd number of tokens, a value other than 0 and 1, or something
      that is not a symbol of the formula (as in the published protocol);
    * vacuous, if literals contradict each other (``a 1 a 0``);
    * satisfied, if every total assignment that agrees with the answer satisfies the formula, and
      violated otherwise.

    Repeating a literal is harmless, and the empty answer is right exactly for a tautology. So a
    formula has a right answer exactly if it is satisfiable.
    """

    semantics = "prop"

    def check(self, source: str) -> None:
        check_propositional(source.split())

    def decide(self, formula: List[str], answer: List[str]) -> Verdict:
        literals = parse_assignment(answer)
        assignment = dict(literals)
        if not set(assignment) <= set(formula_symbols(formula)):
            return Verdict.invalid
        if len(set(literals)) > len(assignment):
            return Verdict.vacuous
        return self.implies(formula, assignment)

    @abstractmethod
    def implies(self, formula: List[str], assignment: Dict[str, str]) -> Verdict:
        """Decides whether an assignment, from some symbols to ``0`` or ``1``, implies a formula."""


class BitsJudge(PropJudge):
    """Decides by a truth table over the symbols that the answer leaves open; if a table has no room
    for them, by python-sat: *unavailable* where this takes too long or is not installed."""

    name = "bits"
    quick = True

    def implies(self, formula: List[str], assignment: Dict[str, str]) -> Verdict:
        counterexample = self.satisfiable(["!", *(assignment.get(t, t) for t in formula)])
        if counterexample is None:
            return Verdict.unavailable
        return Verdict.violated if counterexample else Verdict.satisfied

    def satisfiable(self, formula: List[str]) -> Optional[bool]:
        symbols = formula_symbols(formula)
        if not _has_room(formula, symbols):
            formula = without_constants(formula)
            symbols = formula_symbols(formula)
            if not _has_room(formula, symbols):
                return satisfiability.satisfiable(formula)
        return truth_table(formula, symbols) != 0


def _has_room(formula: Sequence[str], symbols: Sequence[str]) -> bool:
    return len(symbols) <= MAX_VARIABLES and len(formula) << len(symbols) <= _MOST_BITS
