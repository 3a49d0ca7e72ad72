"""Random LTL formulas with traces that satisfy them."""

import sys
from collections import Counter
from itertools import islice
from random import Random
from typing import Dict, Iterator, List, Optional, Sequence, Set, Tuple

from tqdm import tqdm

from sit_fairseq.datasets.labelling import Label, LabelPool, SpotLabeller
from sit_fairseq.datasets.pair_files import Pair, write_pairs
from sit_fairseq.datasets.recipes import (
    Recipe,
    excluded_keys,
    formula_key,
    open_journal,
    too_few,
)
from sit_fairseq.domains.formulas.sampling import (
    LTL_FORBIDDEN,
    LTL_OPERATORS,
    FormulaSampler,
    SymbolRangeSampler,
    feasible_lengths,
)
from sit_fairseq.domains.formulas.shapes import WrittenFormulas
from sit_fairseq.domains.ltl.spot_judge import (
    conjuncts_sorted,
    random_formulas,
    require_spot,
    spots_own_form,
)
from sit_fairseq.domains.prop.propositional import random_formula
from sit_fairseq.storage.files import replacing
from sit_fairseq.storage.journal import Journal

# A round draws formulas from a seed of its own until so many are worth a label, or so
# many have been drawn. A change of either changes the data of a seed.
LABELS_PER_ROUND, DRAWS_PER_ROUND = 1000, 20000

# There are no more formulas of a length when so many drawn in a row were known or had no
# trace, or when so many draws of any length brought none of it.
MISSES_TO_EXHAUST, DRAWS_TO_EXHAUST = 1000, 300000

# The one length of formulas that are not balanced by length.
_ANY_LENGTH = 0


class LtlFormulas:
    """Random formulas over the symbols of a recipe.

    Attributes:
        lengths: the numbers of tokens there can be.
    """

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self._names = {f"p{index}": symbol for index, symbol in enumerate(recipe.symbols)}
        self._sampler: Optional[SymbolRangeSampler] = None
        if recipe.distinct_symbols:
            operators = recipe.operators or LTL_OPERATORS
            forbidden = {} if recipe.operators else LTL_FORBIDDEN
            formulas = FormulaSampler(operators, [*self._names], recipe.max_length, forbidden)
            self._sampler = SymbolRangeSampler(formulas, *recipe.distinct_symbols)
        lengths = feasible_lengths(recipe.min_length, recipe.max_length, self._sampler)
        self.lengths = [_ANY_LENGTH] if recipe.written else lengths

    def length(self, tokens: Sequence[str]) -> int:
        """The element of ``lengths`` that a formula counts for."""
        return _ANY_LENGTH if self._recipe.written else len(tokens)

    def text(self, tokens: Sequence[str]) -> str:
        """A formula that was drawn over p0, p1, ..., over the symbols of the recipe."""
        return " ".join(self._names.get(token, token) for token in tokens)

    def draw(self, number: int, wanted: Dict[int, int]) -> Iterator[List[str]]:
        """Draws formulas for as long as some are wanted.

        Args:
            number: of the round; each has a seed of its own.
            wanted: how many formulas of which length are wanted; it may change meanwhile.

        Yields:
            The tokens of a formula; none if it came out shorter than drawn.
        """
        recipe = self._recipe
        seed = Random(f"{recipe.seed} {number}").getrandbits(31)
        rng, symbols = Random(seed), list(self._names)
        if recipe.written:
            formulas = WrittenFormulas(rng, symbols, recipe.max_length, temporal=True)
            while any(wanted.values()):
                tokens = formulas.draw()
                yield tokens if len(tokens) >= recipe.min_length else []
        elif self._sampler is None and recipe.operators is None:
            # Formulas come out no longer than drawn: do not draw what is too short anyway.
            drawn = random_formulas(len(symbols), min(wanted), recipe.max_length, seed)
            yield from map(conjuncts_sorted, drawn)
        while any(wanted.values()):
            length = rng.choice([length for length, number in wanted.items() if number])
            if self._sampler is None:
                yield random_formula(rng, length, symbols, recipe.operators)
                continue
            tokens = self._sampler.draw(rng, length)
            if recipe.operators is None:
                tokens = spots_own_form(tokens)
            # A shorter one may have lost a symbol.
            yield tokens if len(tokens) == length else []


class LengthQuota:
    """How many formulas of each length are wanted: as many of each, of which short lengths have
    only a few; what exhausted lengths leave is shared by the others."""

    def __init__(self, lengths: Sequence[int], size: int) -> None:
        self._lengths = lengths
        self._size = size
        self._counts: Counter = Counter()
        self._misses: Counter = Counter()
        self._idle: Counter = Counter()
        self._exhausted: Set[int] = set()

    def wanted(self) -> Dict[int, int]:
        """How many formulas of which lengths are wanted; a UserError if there are too few."""
        rest = [length for length in self._lengths if length not in self._exhausted]
        if not rest:
            raise too_few(sum(self._counts.values()))
        share = self._size - sum(self._counts[length] for length in self._exhausted)
        quota = -(-share // len(rest))
        wanted = {length: quota - self._counts[length] for length in rest}
        return {length: number for length, number in wanted.items() if number > 0}

    def hit(self, length: int) -> None:
        """Counts a formula of a length."""
        self._counts[length] += 1
        self._misses[length] = self._idle[length] = 0

    def miss(self, length: int) -> None:
        """Counts a draw of a length that brought no formula."""
        self._misses[length] += 1

    def close_round(self, wanted: Dict[int, int], draws: int) -> None:
        """Notes the lengths that a round of so many draws has shown to be exhausted."""
        for length in wanted:
            self._idle[length] += draws
            if self._misses[length] >= MISSES_TO_EXHAUST or self._idle[length] >= DRAWS_TO_EXHAUST:
                self._exhausted.add(length)


class LtlGeneration:
    """A data set in the making.

    Attributes:
        pairs: the formulas with their traces.
        stopped: the formulas that Spot was stopped at or failed on, with the fault of each.
        left_out: how many formulas were left out, by the reason.
    """

    def __init__(self, recipe: Recipe) -> None:
        self.pairs: List[Pair] = []
        self.stopped: Dict[str, str] = {}
        self.left_out: Counter = Counter(duplicates=0, excluded=0, timeout=0, error=0)
        self._size = recipe.size
        self._formulas = LtlFormulas(recipe)
        self._excluded = excluded_keys(recipe.exclude)
        self._seen: Set[int] = set()
        self._quota = LengthQuota(self._formulas.lengths, recipe.size)

    def run(self, pool: LabelPool, journal: Journal) -> None:
        """Draws and labels rounds of formulas until there are enough.

        Args:
            pool: labels formulas.
            journal: has the labels of the rounds of an interrupted run, and gets those of others.
        """
        number = 0
        with tqdm(total=self._size, unit=" samples") as bar:
            while len(self.pairs) < self._size:
                wanted = self._quota.wanted()
                candidates, draws = self._draw(number, dict(wanted))
                labels = _labels(list(candidates.values()), number, pool, journal)
                for (key, formula), label in zip(candidates.items(), labels):
                    self._take(key, formula, label)
                self._quota.close_round(wanted, draws)
                number += 1
                bar.update(len(self.pairs) - bar.n)

    def _draw(self, number: int, wanted: Dict[int, int]) -> Tuple[Dict[int, str], int]:
        """Draws new formulas of wanted lengths, by key; also says how many were drawn in all."""
        candidates: Dict[int, str] = {}
        draws = 0
        for tokens in islice(self._formulas.draw(number, wanted), DRAWS_PER_ROUND):
            draws += 1
            length = self._formulas.length(tokens)
            if not tokens or wanted.get(length, 0) < 1:
                continue
            key = formula_key(tokens)
            if key in self._excluded or key in self._seen or key in candidates:
                self.left_out["excluded" if key in self._excluded else "duplicates"] += 1
                self._quota.miss(length)
                continue
            candidates[key] = self._formulas.text(tokens)
            wanted[length] -= 1
            if len(candidates) == LABELS_PER_ROUND:
                break
        return candidates, draws

    def _take(self, key: int, formula: str, label: Label) -> None:
        """Adds a formula to the data, or counts why not."""
        length = self._formulas.length(formula.split())
        if label.stopped:
            self.stopped[formula] = label.fault
            tqdm.write(f"{label.fault} of Spot: {formula}", file=sys.stderr)
            self._seen.add(key)
        if label.fault is not None:
            self.left_out[label.fault] += 1
            self._quota.miss(length)
        elif len(self.pairs) < self._size:
            self.pairs.append((formula, label.target))
            self._seen.add(key)
            self._quota.hit(length)


def _labels(formulas: List[str], number: int, pool: LabelPool, journal: Journal) -> List[Label]:
    """The labels of a round, from the journal if an interrupted run made them."""
    if number < len(journal.entries):
        entry = journal.entries[number]
        if list(entry) != formulas:
            raise journal.damaged(number + 2)
        return [Label(*label) for label in entry.values()]
    labels = list(pool.labels(formulas))
    journal.append(dict(zip(formulas, labels)))
    return labels


def generate_ltl(recipe: Recipe) -> Counter:
    """Generates formulas with traces, or goes on where this was interrupted.

    Formulas that Spot was stopped at or failed on are listed in ``OUT_PREFIX.timeouts``. The labels
    of finished rounds are kept in ``OUT_PREFIX.journal``; formulas are drawn again.

    Returns:
        How many formulas were left out, by the reason.

    Raises:
        UserError: there are too few such formulas, or a file cannot be used.
    """
    require_spot("LTL data need")
    made, prefix = LtlGeneration(recipe), recipe.out_prefix
    with open_journal(prefix, "labels", recipe) as journal:
        labeller = SpotLabeller(recipe.labels == "depth-first")
        with LabelPool(labeller, recipe.workers, recipe.timeout) as pool:
            made.run(pool, journal)
        with replacing(f"{prefix}.timeouts") as (file,):
            file.writelines(f"{fault}\t{text}\n" for text, fault in made.stopped.items())
        write_pairs(prefix, made.pairs)
        journal.remove()
    return made.left_out
