"""The options of generators, each stated once."""

import argparse
from typing import Any, Callable, List, Mapping, Sequence, Type

from sit_fairseq.commands._options import at_least, range_from, symbols
from sit_fairseq.datasets.drawing import Recipe
from sit_fairseq.logic.syntax import ARITY


def add_options(parser: Any, least: int = 1, logic: Sequence[str] = (), **defaults: Any) -> None:
    """Adds some of the options of generators.

    Args:
        parser: the generator's own parser, or a group of its arguments.
        least: least number of symbols.
        logic: all operators.
        defaults: the options to add, with their defaults.
    """
    options = {
        "symbols": dict(
            type=symbols(least),
            help="how many (a, b, ...; for more than 26 p0, p1, ...), or their names: f,g,h",
        ),
        "size": dict(type=at_least(1), help="number of samples"),
        "min_length": dict(type=at_least(1), help="fewest tokens"),
        "max_length": dict(type=at_least(1), help="most tokens"),
        "distinct_symbols": dict(
            type=range_from(least),
            metavar="LO-HI",
            help="number of different symbols in each sample, or a range of it; lengths in which "
            "they have no room are left out",
        ),
        "operators": dict(
            type=_some_of(logic),
            metavar="OPS",
            help="operators of random formulas, separated by spaces or commas, one of them unary; "
            f"all that there are: {' '.join(logic)}",
        ),
        "written": dict(
            action="store_true",
            help="formulas as people write them, over all operators: wide conjunctions and "
            "disjunctions, chains, conditions, several requirements joined, and their negations",
        ),
        "exclude": dict(
            nargs="+",
            metavar="FILE",
            help="leave out all renamings of the lines of these files; PREFIX stands for PREFIX.src",
        ),
        "seed": dict(type=int, help="the same seed gives the same data"),
        "workers": dict(type=at_least(1), help="processes; the data do not depend on their number"),
        "timeout": dict(
            type=at_least(0.001, float), help="seconds for the label of an LTL formula"
        ),
        "restart": dict(action="store_true", help="begin anew instead of going on"),
    }
    for name, default in defaults.items():
        option = {**options[name], "default": default}
        if default:
            option["help"] += " (default: %(default)s)"
        parser.add_argument("--" + name.replace("_", "-"), **option)


def recipe(args: argparse.Namespace, kind: Type[Any] = Recipe) -> Any:
    """A recipe of the options that were given."""
    return kind(**{n: value for n, value in vars(args).items() if n in kind.__dataclass_fields__})


def report(args: argparse.Namespace, left_out: Mapping[str, int]) -> None:
    """Prints what was written, and how many draws were left out for which reason."""
    reasons = ", ".join(f"{number} {reason}" for reason, number in left_out.items())
    print(f"{args.size} samples in {args.out_prefix}.src and .tgt; left out: {reasons}")


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
