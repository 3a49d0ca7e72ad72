"""Recipes of random formulas."""

import argparse
from dataclasses import dataclass
from random import Random
from typing import Callable, ClassVar, List, Mapping, Optional, Sequence

from sit_fairseq.datasets.options import at_least, option, symbol_names, symbols
from sit_fairseq.datasets.recipes import SYMBOLS_HELP, SizedRecipe
from sit_fairseq.domains.formulas.sampling import FormulaSampler
from sit_fairseq.domains.formulas.shapes import Shapes
from sit_fairseq.domains.formulas.syntax import ARITY
from sit_fairseq.errors import UserError


def symbols_option(least: int) -> Sequence[str]:
    """The option that names the symbols of formulas, at least so many."""
    return option(
        symbol_names(5), f"{SYMBOLS_HELP} (default: 5)", type=symbols(least, tuple(ARITY))
    )


def operators_option(known: Sequence[str]) -> Optional[Sequence[str]]:
    """The option that names the operators of formulas, of those that there are."""
    return option(
        None,
        "operators of random formulas, separated by spaces or commas, at least one unary; known are "
        f"{' '.join(known)}",
        type=_some_of(known),
        metavar="OPS",
    )


@dataclass
class FormulaRecipe(SizedRecipe):
    """The options of formulas, which are random trees, over ``usual_operators`` unless others are
    named, or drawn in the shapes that people write, as requirements on time if ``temporal``."""

    size: int = option(800000, "number of samples", type=at_least(1))
    symbols: Sequence[str] = symbols_option(1)
    operators: Optional[Sequence[str]] = None
    style: str = option(
        "random",
        "random trees, or formulas as people write them, over all operators: wide conjunctions, wide "
        "disjunctions, chains, conditions, several requirements joined, and their negations",
        choices=["random", "people"],
    )

    temporal: ClassVar[bool] = False
    usual_operators: ClassVar[Sequence[str]] = ()
    forbidden: ClassVar[Mapping] = {}

    def __post_init__(self) -> None:
        faults = {
            "have any number of symbols": ("distinct_symbols style", self.distinct_symbols),
            "have all operators": ("operators style", self.operators),
            "need a symbol": ("symbols", not self.symbols),
        }
        for fault, (options, present) in faults.items():
            if self.style == "people" and present:
                raise UserError(f"formulas in the style of people {fault}", options)
        super().__post_init__()

    def samples(self) -> FormulaSampler:
        operators = self.operators or self.usual_operators
        forbidden = {} if self.operators else self.forbidden
        return FormulaSampler(operators, self.names(), self.max_length, forbidden)

    def shapes(self, rng: Random) -> Shapes:
        """Draws formulas in the shapes that people write."""
        return Shapes(rng, self.names(), self.max_length, self.temporal)

    def names(self) -> Sequence[str]:
        """The symbols over which formulas are drawn."""
        return self.symbols


def _some_of(operators: Sequence[str]) -> Callable[[str], List[str]]:
    """The type of operators to draw formulas of."""

    def read(text: str) -> List[str]:
        named = text.replace(",", " ").split()
        for name in named:
            if name not in operators:
                raise argparse.ArgumentTypeError(f"{name!r} is none of {' '.join(operators)}")
            if named.count(name) > 1:
                raise argparse.ArgumentTypeError(f"{name!r} is named twice")
        if not any(ARITY[name] == 1 for name in named):
            raise argparse.ArgumentTypeError(f"none of {text!r} is unary")
        return named

    return read
