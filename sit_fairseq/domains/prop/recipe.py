"""Random propositional formulas with satisfying partial assignments."""

from collections import Counter
from functools import partial
from random import Random
from typing import Callable, Dict, List, Optional, Sequence

from sit_fairseq.datasets.pair_files import Pair
from sit_fairseq.datasets.recipes import Recipe, draw_pairs, write_unique
from sit_fairseq.domains.formulas.sampling import (
    FormulaSampler,
    SymbolRangeSampler,
    feasible_lengths,
)
from sit_fairseq.domains.formulas.shapes import WrittenFormulas
from sit_fairseq.domains.prop.aiger_judge import INSTALL_HINT, aiger_assignment, aiger_installed
from sit_fairseq.domains.prop.depth_first import depth_first_answer
from sit_fairseq.domains.prop.propositional import (
    MAX_VARIABLES,
    RANDOM_OPERATORS,
    assignment_text,
    is_contingent,
    random_formula,
    smallest_answer,
)
from sit_fairseq.errors import UserError

# Another number changes the data of a seed.
FORMULAS_PER_CHUNK = 100


def aiger_answer(formula: Sequence[str]) -> str:
    """The assignment by the rule of PropRandom35, which depends on names."""
    return assignment_text(aiger_assignment(formula))


# The assignments of satisfiable formulas in prefix notation, by the kind of labels.
LABELS: Dict[str, Callable[[Sequence[str]], str]] = {
    "smallest": smallest_answer,
    "depth-first": depth_first_answer,
    "aiger": aiger_answer,
}


class PropPairs:
    """Draws formulas that are satisfiable and no tautologies, with their assignments.

    A length is drawn uniformly, then formulas of it until one is contingent; written formulas have
    any length.

    Raises:
        UserError: there are no such formulas, or they have too many symbols.
    """

    def __init__(self, recipe: Recipe) -> None:
        most = (recipe.distinct_symbols or (0, (recipe.max_length + 1) // 2))[1]
        most = min(most, len(recipe.symbols))
        if most > MAX_VARIABLES:
            raise UserError(
                f"a truth table has at most {MAX_VARIABLES} symbols, these formulas up to {most}",
                "symbols max_length",
            )
        self._recipe = recipe
        self._operators = recipe.operators or RANDOM_OPERATORS
        self._sampler: Optional[SymbolRangeSampler] = None
        if recipe.distinct_symbols:
            formulas = FormulaSampler(self._operators, recipe.symbols, recipe.max_length)
            self._sampler = SymbolRangeSampler(formulas, *recipe.distinct_symbols)
        self._lengths = feasible_lengths(recipe.min_length, recipe.max_length, self._sampler)

    def __call__(self, rng: Random) -> Pair:
        formula = self.formula(rng)
        return " ".join(formula), LABELS[self._recipe.labels](formula)

    def formula(self, rng: Random) -> List[str]:
        """Draws the tokens of a formula."""
        recipe = self._recipe
        if recipe.written:
            draw = WrittenFormulas(rng, recipe.symbols, recipe.max_length, temporal=False).draw
        elif self._sampler is not None:
            draw = partial(self._sampler.draw, rng, rng.choice(self._lengths))
        else:
            length = rng.choice(self._lengths)
            draw = partial(random_formula, rng, length, recipe.symbols, self._operators)
        formula = draw()
        while not is_contingent(formula) or len(formula) < recipe.min_length:
            formula = draw()
        return formula


def generate_prop(recipe: Recipe) -> Counter:
    """Generates formulas with assignments; labels are of a kind in ``LABELS``.

    Raises:
        UserError: there are too few such formulas, or a file cannot be used.
    """
    if recipe.labels == "aiger" and not aiger_installed():
        raise UserError(f"labels of py-aiger need py-aiger-sat: {INSTALL_HINT}", "labels")
    return write_unique(recipe, draw_pairs(recipe, PropPairs(recipe), FORMULAS_PER_CHUNK))
