"""LTL formulas: random, as Spot's ``randltl`` draws them or over other operators, or written."""

from random import Random
from typing import Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from sit_fairseq.datasets.formula_sampling import LTL_FORBIDDEN, LTL_OPERATORS, FormulaSampler
from sit_fairseq.datasets.sampling import SymbolRangeSampler
from sit_fairseq.datasets.written import WrittenFormulas
from sit_fairseq.judging.spot_judge import conjuncts_sorted, random_formulas, spots_own_form
from sit_fairseq.logic.propositional import random_formula
from sit_fairseq.symbols.renaming import Renaming

# The one length of formulas that are not balanced by length.
ANY_LENGTH = 0


class LtlRecipe(NamedTuple):
    """What the data depend on.

    Attributes:
        symbols: names of the symbols.
        min_length: fewest tokens.
        max_length: most tokens.
        size: number of pairs.
        seed: the same one brings the same pairs.
        timeout: seconds for the label of a formula.
        exclude: files, or prefixes of pairs of files, of whose sources no formula may be a
            renaming.
        distinct_symbols: how many different symbols a formula has, as on the command line; None
            for any number.
        labels: ``spot`` or ``depth-first``.
        operators: those of random formulas that are left as they are drawn; None for those of
            LTLRandom35, which Spot rewrites.
        written: draw formulas as people write them (:class:`WrittenFormulas`).
    """

    symbols: List[str]
    min_length: int
    max_length: int
    size: int
    seed: int
    timeout: float
    exclude: List[str]
    distinct_symbols: Optional[str]
    labels: str
    operators: Optional[List[str]] = None
    written: bool = False


class LtlFormulas:
    """Formulas over p0, p1, ...

    Args:
        recipe: what to draw.
        distinct: the fewest and the most different symbols of a formula, None for any number.

    Attributes:
        lengths: the numbers of tokens there can be.
        renaming: gives the formulas the names of the recipe.
    """

    def __init__(self, recipe: LtlRecipe, distinct: Optional[Tuple[int, int]]) -> None:
        self._recipe = recipe
        self.lengths: Sequence[int] = range(recipe.min_length, recipe.max_length + 1)
        self.renaming = Renaming({f"p{i}": symbol for i, symbol in enumerate(recipe.symbols)})
        self._sampler: Optional[SymbolRangeSampler] = None
        if recipe.written:
            self.lengths = [ANY_LENGTH]
        elif distinct is not None:
            forbidden = LTL_FORBIDDEN if recipe.operators is None else {}
            operators = recipe.operators or LTL_OPERATORS
            formulas = FormulaSampler(operators, len(recipe.symbols), forbidden)
            self._sampler = SymbolRangeSampler(formulas, list(self.renaming.mapping), *distinct)
            self.lengths = list(filter(self._sampler.feasible, self.lengths))

    def length(self, tokens: Sequence[str]) -> int:
        """Which of ``lengths`` a formula has."""
        return ANY_LENGTH if self._recipe.written else len(tokens)

    def draw(self, number: int, wanted: Dict[int, int]) -> Iterator[List[str]]:
        """Draws formulas, where lengths are chosen as long as some are wanted.

        Args:
            number: which of several rounds it is; each has a seed of its own.
            wanted: how many formulas of which length are wanted; may change meanwhile.

        Yields:
            The tokens of a formula; none if it came out shorter than drawn.
        """
        seed = Random(f"{self._recipe.seed} {number}").getrandbits(31)
        rng, symbols, operators = Random(seed), list(self.renaming.mapping), self._recipe.operators
        if self._recipe.written:
            formulas = WrittenFormulas(rng, symbols, self._recipe.max_length, temporal=True)
            while any(wanted.values()):
                tokens = formulas.draw()
                yield tokens if len(tokens) >= self._recipe.min_length else []
        elif self._sampler is None and operators is None:
            # Formulas come out no longer than drawn: do not draw what is too short anyway.
            shortest, longest = min(wanted), self._recipe.max_length
            drawn = random_formulas(len(symbols), shortest, longest, seed)
            yield from map(conjuncts_sorted, drawn)
        while any(wanted.values()):
            length = rng.choice([length for length, number in wanted.items() if number])
            if self._sampler is None:
                yield random_formula(rng, length, symbols, operators)
                continue
            tokens = self._sampler.draw(rng, length)
            if operators is None:
                tokens = spots_own_form(tokens)
            # A shorter one may have lost a symbol.
            yield tokens if len(tokens) == length else []
