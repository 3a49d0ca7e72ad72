"""Random propositional formulas with satisfying partial assignments."""

from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Callable, Dict, List, Optional, Sequence

from sit_fairseq.datasets.labelling import Label, Labeller
from sit_fairseq.datasets.options import option, symbol_names
from sit_fairseq.datasets.recipes import Cells
from sit_fairseq.domains.formulas.recipe import FormulaRecipe, operators_option
from sit_fairseq.domains.formulas.sampling import FormulaSampler
from sit_fairseq.domains.formulas.syntax import OPERATORS
from sit_fairseq.domains.prop.aiger_judge import INSTALL_HINT, aiger_answer, aiger_installed
from sit_fairseq.domains.prop.depth_first import depth_first_answer
from sit_fairseq.domains.prop.propositional import (
    MAX_VARIABLES,
    RANDOM_OPERATORS,
    is_contingent,
    random_formula,
    smallest_answer,
)
from sit_fairseq.errors import UserError

# Formulas that are drawn for one that may be asked.
_TRIES = 100


def _label(answer: Callable[[Sequence[str]], Optional[str]], source: str) -> Label:
    """The answer to a formula, which is of no use if anything or nothing satisfies it."""
    text = answer(source.split())
    fault = "unsatisfiable" if text is None else "tautology"
    return Label(text) if text else Label("", fault)


LABELS: Dict[str, Labeller] = {
    "smallest": partial(_label, smallest_answer),
    "depth-first": partial(_label, depth_first_answer),
    "aiger": partial(_label, aiger_answer),
}


def _check_table(number: int, options: str) -> None:
    if number > MAX_VARIABLES:
        most = f"a truth table has at most {MAX_VARIABLES} symbols"
        raise UserError(f"{most}, these formulas up to {number}", options)


@dataclass
class PropRecipe(FormulaRecipe):
    """Formulas that are satisfiable and no tautologies, with their assignments.

    The set-up is that of PropRandom35 (Hahn et al. 2021): a length is drawn uniformly, then
    formulas of this length until one is contingent. Known formulas are dropped, so short ones are
    few (1, 1, 19, 51, 737 and 3193 of 1 to 6 tokens). Formulas in the style of people have any
    length. ``--labels`` changes the assignments alone.
    """

    operators: Optional[Sequence[str]] = operators_option(OPERATORS)
    labels: str = option(
        "smallest",
        "a smallest assignment; or the first that a walk through the formula finds, which is "
        "learnt much faster, both renamed with the formula; or the rule of PropRandom35, hundreds "
        "of times slower and not reproducible",
        choices=list(LABELS),
    )

    usual_operators = RANDOM_OPERATORS

    def __post_init__(self) -> None:
        if self.labels == "aiger" and not aiger_installed():
            raise UserError(f"labels of py-aiger need py-aiger-sat: {INSTALL_HINT}", "labels")
        most = (self.distinct_symbols or (0, (self.max_length + 1) // 2))[1]
        _check_table(min(most, len(self.symbols)), "symbols max_length")
        super().__post_init__()

    def draw(self, rng: Random) -> List[str]:
        if self.style == "people":
            draw = self.shapes(rng).draw
        elif self.sampler is not None:
            draw = partial(self.sampler.draw, rng, rng.choice(self.lengths))
        else:
            operators = self.operators or RANDOM_OPERATORS
            length = rng.choice(self.lengths)
            draw = partial(random_formula, rng, length, self.symbols, operators)
        for _ in range(_TRIES):
            formula = draw()
            if len(formula) >= self.min_length and is_contingent(formula):
                return formula
        return []


class PropCells(Cells):
    """Draws formulas of a length; :data:`LABELS` tell which have an answer worth asking for."""

    faults = ("unsatisfiable", "tautology")

    def samples(self, max_symbols: int, max_length: int) -> FormulaSampler:
        _check_table(max_symbols, "max_symbols")
        return FormulaSampler(RANDOM_OPERATORS, symbol_names(max_symbols), max_length)
