"""Options that several generators have."""

import argparse
import re
from typing import List, Optional, Sequence, Tuple

from sit_fairseq.datasets.formula_sampling import LONGEST_FORMULA
from sit_fairseq.errors import UserError
from sit_fairseq.logic.syntax import ARITY


def add_sampling_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options that every generator of random sentences has.

    Args:
        parser: the generator's own parser.
    """
    add = parser.add_argument
    add(
        "--symbols",
        default="5",
        help="how many (a, b, ...; for more than 26 p0, p1, ...), or their names: f,g,h "
        "(default: %(default)s)",
    )
    add("--min-length", type=int, default=1, help="fewest tokens (default: %(default)s)")
    add("--max-length", type=int, default=35, help="most tokens (default: %(default)s)")
    add("--size", type=int, default=800000, help="number of samples (default: %(default)s)")
    add("--seed", type=int, default=42, help="(default: %(default)s)")
    add(
        "--workers",
        type=int,
        default=2,
        help="processes; the data do not depend on their number (default: %(default)s)",
    )


def add_form_options(parser: argparse.ArgumentParser, operators: Sequence[str]) -> None:
    """Adds the options that say which formulas there are.

    Args:
        parser: the generator's own parser.
        operators: of the logic.
    """
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument(
        "--operators",
        metavar="OPS",
        help="operators of random formulas, separated by spaces or commas, one of them unary; "
        f"all that there are: {' '.join(operators)}",
    )
    forms.add_argument(
        "--written",
        action="store_true",
        help="formulas as people write them, over all operators: wide conjunctions and "
        "disjunctions, chains, conditions, several requirements joined, and their negations",
    )


def parse_operators(args: argparse.Namespace, operators: Sequence[str]) -> Optional[List[str]]:
    """Reads the value of ``--operators``.

    Args:
        args: the parsed options.
        operators: of the logic.

    Returns:
        Those named, None if none are.

    Raises:
        UserError: one is unknown or named twice, or none is unary, or written formulas are asked
            for with a number of symbols.
    """
    if args.written and args.distinct_symbols is not None:
        raise UserError(
            "--distinct-symbols is for random formulas; leave it out with --written, whose formulas "
            "have any number of the --symbols"
        )
    if args.operators is None:
        return None
    named = args.operators.replace(",", " ").split()
    wrong = [name for name in named if name not in operators or named.count(name) > 1]
    if wrong or not any(ARITY[name] == 1 for name in named):
        reason = f"{wrong[0]!r} is unknown or named twice" if wrong else "none of them is unary"
        raise UserError(
            f"--operators {args.operators!r}: {reason}; name some of {' '.join(operators)}"
        )
    return named


def add_exclude_option(parser: argparse.ArgumentParser) -> None:
    """Adds the option whose value :func:`~sit_fairseq.datasets.drawing.excluded_keys` takes.

    Args:
        parser: the generator's own parser.
    """
    parser.add_argument(
        "--exclude",
        nargs="+",
        default=[],
        metavar="FILE",
        help="leave out all renamings of the lines of these files; PREFIX stands for PREFIX.src",
    )


def add_distinct_option(parser: argparse.ArgumentParser) -> None:
    """Adds the option whose value :func:`parse_distinct` takes.

    Args:
        parser: the generator's own parser.
    """
    parser.add_argument(
        "--distinct-symbols",
        metavar="LO-HI",
        help="number of different symbols in each sample, or a range of it; lengths in which they "
        "have no room are left out (default: any)",
    )


def parse_range(text: str, option: str, least: int) -> Tuple[int, int]:
    """Reads a number, or a range of numbers.

    Args:
        text: as in ``4`` or ``4-5``.
        option: whose value it is, for messages.
        least: the smallest number there may be.

    Returns:
        The smallest and the greatest number.

    Raises:
        UserError: it cannot be read.
    """
    match = re.fullmatch(r"(\d+)(?:-(\d+))?", text)
    first, last = (int(end) for end in (match[1], match[2] or match[1])) if match else (0, -1)
    if not least <= first <= last:
        raise UserError(f"{option} {text}: give a number from {least} on, or a range as in 4-5.")
    return first, last


def parse_distinct(
    args: argparse.Namespace, n_symbols: int, room: int, least: int = 1
) -> Optional[Tuple[int, int]]:
    """Reads the value of ``--distinct-symbols``.

    Args:
        args: the parsed options.
        n_symbols: how many symbols there are.
        room: how many different ones a sample (of ``--max-length``, if there is one) can have.
        least: how many each sample must have, 0 or 1.

    Returns:
        The fewest and the most symbols of a sample, None if that was not said.

    Raises:
        UserError: it cannot be read or met.
    """
    text = args.distinct_symbols
    if text is None:
        return None
    fewest, most = parse_range(text, "--distinct-symbols", least)
    if most > n_symbols:
        raise UserError(f"--distinct-symbols {text}: --symbols {args.symbols} has not so many.")
    if most > room:
        length = getattr(args, "max_length", None)
        of_length = "" if length is None else f" of --max-length {length} tokens"
        raise UserError(
            f"--distinct-symbols {text}: a sample{of_length} has at most {room} different symbols."
        )
    return fewest, most


def parse_distinct_in_formulas(
    args: argparse.Namespace, n_symbols: int, least: int = 1
) -> Optional[Tuple[int, int]]:
    """Reads the value of ``--distinct-symbols`` for formulas.

    Args:
        args: the parsed options.
        n_symbols: how many symbols there are.
        least: how many each formula must have, 0 or 1.

    Returns:
        As :func:`parse_distinct`.

    Raises:
        UserError: it cannot be read or met, or the formulas are too long for the sampler.
    """
    distinct = parse_distinct(args, n_symbols, (args.max_length + 1) // 2, least)
    if distinct is not None and args.max_length > LONGEST_FORMULA:
        raise UserError(
            f"--max-length {args.max_length}: with --distinct-symbols formulas can have at most "
            f"{LONGEST_FORMULA} tokens."
        )
    return distinct


def check_sampling_options(args: argparse.Namespace) -> None:
    """Refuses values of the sampling options that cannot be met.

    Args:
        args: the parsed options.

    Raises:
        UserError: one cannot.
    """
    if not 1 <= args.min_length <= args.max_length:
        raise UserError(
            f"--min-length {args.min_length} --max-length {args.max_length}: "
            "lengths must be at least 1 and the maximum no less than the minimum."
        )
    if args.size < 1 or args.workers < 1:
        raise UserError(f"--size {args.size} --workers {args.workers}: both must be at least 1.")
