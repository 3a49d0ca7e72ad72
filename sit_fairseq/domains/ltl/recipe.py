"""Random LTL formulas with traces that satisfy them."""

from dataclasses import dataclass
from random import Random
from typing import Dict, Iterator, List, Optional, Sequence, Tuple

from sit_fairseq.datasets.labelling import Label
from sit_fairseq.datasets.options import option, symbol_names
from sit_fairseq.datasets.recipes import Cells, TimedRecipe, distinct_symbols_option
from sit_fairseq.domains.formulas.recipe import FormulaRecipe, operators_option, symbols_option
from sit_fairseq.domains.formulas.sampling import FormulaSampler
from sit_fairseq.domains.formulas.syntax import ARITY, exchanged
from sit_fairseq.domains.ltl.spot_judge import (
    conjuncts_sorted,
    random_formulas,
    spot_installed,
    spot_trace,
    spots_own_form,
)
from sit_fairseq.domains.ltl.tableau import depth_first_trace
from sit_fairseq.domains.prop.propositional import random_formula

# The operators of LTLRandom35, and with which tokens an operand must not begin because Spot
# would rewrite the formula to a shorter one.
LTL_OPERATORS = ("!", "X", "U", "&")
LTL_FORBIDDEN = {
    ("!", 0): ("0", "1", "!"),
    ("X", 0): ("1",),
    ("U", 0): ("0",),
    ("U", 1): ("0", "1"),
    ("&", 0): ("0", "1"),
    ("&", 1): ("0", "1"),
}


class SpotLabeller:
    """Finds a trace for a formula. As LTLRandom35 has none with ``0``, such a trace is a fault.

    Args:
        depth_first: label by :func:`~sit_fairseq.domains.ltl.tableau.depth_first_trace`, and by
            Spot only the few formulas for which that finds no trace.
    """

    def __init__(self, depth_first: bool = False) -> None:
        self.depth_first = depth_first

    def __setstate__(self, state: Dict[str, bool]) -> None:
        vars(self).update(state)
        spot_installed()  # a worker loads it before the time of its first item is taken

    def __call__(self, formula: str) -> Label:
        tokens = formula.split()
        trace = depth_first_trace(tokens) if self.depth_first else None
        if trace is None:
            trace = spot_trace(tokens)
        if trace is None:
            return Label("", "unsatisfiable")
        return Label(" ".join(trace.tokens), "zero_in_trace" if "0" in trace.tokens else None)


LABELS = {"spot": SpotLabeller(), "depth-first": SpotLabeller(depth_first=True)}


def spots_names(number: int) -> List[str]:
    """The names over which formulas are drawn: the order of Spot's conjuncts depends on names."""
    return [f"p{index}" for index in range(number)]


@dataclass
class LtlRecipe(FormulaRecipe, TimedRecipe):
    """Satisfiable formulas with their traces.

    The set-up is that of LTLRandom35 (Hahn et al. 2021): formulas of Spot's ``randltl`` over ``! &
    X U`` and the constants, as many of each length, each with an accepting run of its automaton.
    Spot sorts the operands of ``&``; ``--exchange`` puts them in random order. With
    ``--distinct-symbols`` formulas that Spot would rewrite to a shorter one are left out. With
    ``--operators`` formulas are kept as drawn. Formulas in the style of people have any length.
    """

    symbols: Sequence[str] = symbols_option(0)
    distinct_symbols: Optional[Tuple[int, int]] = distinct_symbols_option(0)
    operators: Optional[Sequence[str]] = operators_option(tuple(ARITY))
    labels: str = option(
        "spot",
        "accepting run of Spot's automaton, the rule of LTLRandom35; or the trace that a walk "
        "through the formula finds first, which is learnt faster (Spot's where a short walk finds "
        "none: about 0.1 %% of the formulas over ! X U &, 3 to 4 %% over all operators)",
        choices=list(LABELS),
    )
    exchange: bool = option(
        False,
        "exchange the operands of & | <-> xor at random, which Spot sorts",
        action="store_true",
    )

    temporal = True
    usual_operators = LTL_OPERATORS
    forbidden = LTL_FORBIDDEN

    def __post_init__(self) -> None:
        self._names = dict(zip(spots_names(len(self.symbols)), self.symbols))
        super().__post_init__()
        if self.style == "people":
            self.lengths = None

    def names(self) -> Sequence[str]:
        return list(self._names)

    def draws(self, rng: Random, wanted: Dict[int, int]) -> Iterator[List[str]]:
        for tokens in self._draws(rng, wanted):
            if self.exchange and tokens and (self.lengths is None or wanted.get(len(tokens))):
                tokens = exchanged(tokens, rng)
            yield [self._names.get(token, token) for token in tokens]

    def _draws(self, rng: Random, wanted: Dict[int, int]) -> Iterator[List[str]]:
        """Draws formulas over p0, p1, ...; none where one came out shorter than drawn."""
        seed = rng.getrandbits(31)
        rng, names = Random(seed), self.names()
        if self.style == "people":
            shapes = self.shapes(rng)
            while any(wanted.values()):
                tokens = shapes.draw()
                yield tokens if len(tokens) >= self.min_length else []
        elif self.sampler is None and self.operators is None:
            # Formulas come out no longer than drawn: do not draw what is too short anyway.
            drawn = random_formulas(len(names), min(wanted), self.max_length, seed)
            yield from map(conjuncts_sorted, drawn)
        while any(wanted.values()):
            length = rng.choice([length for length, number in wanted.items() if number])
            if self.sampler is None:
                yield random_formula(rng, length, names, self.operators)
                continue
            tokens = self.sampler.draw(rng, length)
            if self.operators is None:
                tokens = spots_own_form(tokens)
            # A shorter one may have lost a symbol.
            yield tokens if len(tokens) == length else []


class LtlCells(Cells):
    """Draws formulas as Spot's ``randltl`` does, of a length unless Spot rewrites them."""

    fewest = 0
    faults = ("rewritten", "unsatisfiable", "timeout", "error", "zero_in_trace")

    def samples(self, max_symbols: int, max_length: int) -> FormulaSampler:
        names = spots_names(max_symbols)
        self._names = dict(zip(names, symbol_names(max_symbols)))
        return FormulaSampler(LTL_OPERATORS, names, max_length, LTL_FORBIDDEN)

    def draw(self, rng: Random, k: int, length: int) -> List[str]:
        formula = spots_own_form(super().draw(rng, k, length))
        return [self._names.get(token, token) for token in formula]
