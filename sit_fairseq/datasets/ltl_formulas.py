"""Random LTL formulas, as Spot's ``randltl`` draws them."""

from random import Random
from typing import Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from sit_fairseq.datasets.formula_sampling import LTL_FORBIDDEN, LTL_OPERATORS, FormulaSampler
from sit_fairseq.datasets.sampling import SymbolRangeSampler
from sit_fairseq.judging.spot_judge import conjuncts_sorted, random_formulas, spots_own_form
from sit_fairseq.symbols.renaming import Renaming


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


class LtlFormulas:
    """Random formulas over p0, p1, ...

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
        if distinct is not None:
            formulas = FormulaSampler(LTL_OPERATORS, len(recipe.symbols), LTL_FORBIDDEN)
            self._sampler = SymbolRangeSampler(formulas, list(self.renaming.mapping), *distinct)
            self.lengths = list(filter(self._sampler.feasible, self.lengths))

    def draw(self, number: int, wanted: Dict[int, int]) -> Iterator[List[str]]:
        """Draws formulas, as long as lengths are wanted if the number of symbols is given.

        Args:
            number: which of several rounds it is; each has a seed of its own.
            wanted: how many formulas of which length are wanted; may change meanwhile.

        Yields:
            The tokens of a formula; none if it came out shorter than drawn.
        """
        seed = Random(f"{self._recipe.seed} {number}").getrandbits(31)
        if self._sampler is None:
            # Formulas come out no longer than drawn: do not draw what is too short anyway.
            shortest, longest = min(wanted), self._recipe.max_length
            n_symbols = len(self._recipe.symbols)
            yield from map(conjuncts_sorted, random_formulas(n_symbols, shortest, longest, seed))
        else:
            rng = Random(seed)
            while any(wanted.values()):
                length = rng.choice([length for length, number in wanted.items() if number])
                tokens = spots_own_form(self._sampler.draw(rng, length))
                # A shorter one may have lost a symbol.
                yield tokens if len(tokens) == length else []
