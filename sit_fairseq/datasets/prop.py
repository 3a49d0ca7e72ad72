"""Propositional formulas with satisfying partial assignments, drawn at random.

``sit generate prop --help`` says what the data are.
"""

from functools import lru_cache, partial
from random import Random
from typing import Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from sit_fairseq.datasets.drawing import Drawn, excluded_keys, write_drawn
from sit_fairseq.datasets.formula_sampling import FormulaSampler
from sit_fairseq.datasets.pair_files import Pair
from sit_fairseq.datasets.sampling import SymbolRangeSampler
from sit_fairseq.datasets.written import WrittenFormulas
from sit_fairseq.errors import UserError
from sit_fairseq.judging.aiger_judge import INSTALL_HINT, aiger_assignment, aiger_installed
from sit_fairseq.logic.depth_first import depth_first_answer
from sit_fairseq.logic.propositional import (
    MAX_VARIABLES,
    RANDOM_OPERATORS,
    assignment_text,
    is_contingent,
    random_formula,
    smallest_answer,
)

# Formulas are drawn in chunks of this size, each from its own seed: what they are does
# not depend on who draws them. A change of it changes the data of a seed.
FORMULAS_PER_CHUNK = 100


def aiger_answer(tokens: Sequence[str]) -> str:
    """Labels a satisfiable formula by the rule of PropRandom35, which names matter to.

    Args:
        tokens: the formula in prefix notation.

    Returns:
        The assignment as in a data set.
    """
    return assignment_text(aiger_assignment(tokens))


LABELS: Dict[str, Callable[[Sequence[str]], str]] = {
    "smallest": smallest_answer,
    "depth-first": depth_first_answer,
    "aiger": aiger_answer,
}


class PropRecipe(NamedTuple):
    """What the formulas and their labels depend on.

    Attributes:
        symbols: names of the symbols.
        min_length: fewest tokens.
        max_length: most tokens.
        seed: the same one brings the same pairs.
        labels: a key of ``LABELS``.
        distinct: the fewest and the most different symbols of a formula, None for any number.
        operators: of random formulas.
        written: draw formulas as people write them (:class:`WrittenFormulas`).
    """

    symbols: Tuple[str, ...]
    min_length: int
    max_length: int
    seed: int
    labels: str
    distinct: Optional[Tuple[int, int]]
    operators: Tuple[str, ...] = RANDOM_OPERATORS
    written: bool = False


@lru_cache(maxsize=1)
def _drawing(recipe: PropRecipe) -> Tuple[Sequence[int], Callable[[Random, int], List[str]]]:
    """How formulas are drawn; once per process.

    Args:
        recipe: what to draw.

    Returns:
        The lengths there can be, and what draws a formula of one of them.
    """
    lengths = range(recipe.min_length, recipe.max_length + 1)
    if recipe.distinct is None:
        return lengths, partial(random_formula, symbols=recipe.symbols, operators=recipe.operators)
    formulas = FormulaSampler(recipe.operators, len(recipe.symbols), {})
    sampler = SymbolRangeSampler(formulas, recipe.symbols, *recipe.distinct)
    return list(filter(sampler.feasible, lengths)), sampler.draw


def _draw_pair(recipe: PropRecipe, rng: Random) -> Pair:
    """Draws a length uniformly, then formulas of it until one is contingent; written formulas
    have any length.

    Args:
        recipe: what to draw.
        rng: the source of randomness.

    Returns:
        The formula and its assignment.
    """
    if recipe.written:
        written = WrittenFormulas(rng, recipe.symbols, recipe.max_length, temporal=False)
        draw = written.draw
    else:
        lengths, sampler = _drawing(recipe)
        draw = partial(sampler, rng, rng.choice(lengths))
    formula = draw()
    while not is_contingent(formula) or len(formula) < recipe.min_length:
        formula = draw()
    return " ".join(formula), LABELS[recipe.labels](formula)


def draw_formulas(recipe: PropRecipe, number: int) -> List[Pair]:
    """Draws one chunk of pairs.

    Args:
        recipe: what to draw.
        number: number of the chunk.

    Returns:
        Source and target lines.
    """
    rng = Random(f"{recipe.seed} {number}")
    return [_draw_pair(recipe, rng) for _ in range(FORMULAS_PER_CHUNK)]


def _check(recipe: PropRecipe) -> None:
    """Refuses what cannot be generated.

    Args:
        recipe: what to draw.

    Raises:
        UserError: it cannot; the message names the option at fault.
    """
    if not recipe.symbols:
        raise UserError(
            "--symbols 0: a formula without symbols is a tautology or unsatisfiable, "
            "and neither is among the data: name at least one symbol."
        )
    most = min(len(recipe.symbols), (recipe.max_length + 1) // 2)
    if recipe.distinct is not None:
        most = recipe.distinct[1]
    if most > MAX_VARIABLES:
        raise UserError(
            f"A formula of {recipe.max_length} tokens may have {most} symbols, too many for a "
            f"truth table: lower --max-length to {2 * MAX_VARIABLES} or --symbols to "
            f"{MAX_VARIABLES}."
        )
    if recipe.labels == "aiger" and not aiger_installed():
        raise UserError(
            f"--labels aiger needs py-aiger-sat: {INSTALL_HINT}, or use --labels smallest."
        )


def generate_prop(
    recipe: PropRecipe, size: int, exclude: Sequence[str], prefix: str, workers: int
) -> Drawn:
    """Generates a data set.

    Args:
        recipe: what to draw.
        size: number of pairs.
        exclude: files, or prefixes of pairs of files, of whose sources no formula may be a
            renaming.
        prefix: names the files ``PREFIX.src`` and ``PREFIX.tgt``.
        workers: number of processes; the data do not depend on it.

    Returns:
        How many pairs were written and left out.

    Raises:
        UserError: that cannot be done, or a file cannot be used.
    """
    _check(recipe)
    try:
        draw = partial(draw_formulas, recipe)
        return write_drawn(prefix, draw, size, excluded_keys(exclude), workers, "samples")
    except RecursionError:
        raise UserError(
            f"A formula of up to {recipe.max_length} tokens is too deep for py-aiger: lower "
            "--max-length, or use --labels smallest."
        )
