"""Options that several verbs have, and types of their values."""

import argparse
from typing import Callable

from sit_fairseq.judging.judge import JUDGES


def at_least(least: float, kind: Callable[[str], float] = int) -> Callable[[str], float]:
    """The type of numbers from ``least`` on; ``kind`` is ``int`` or ``float``."""

    def number(text: str) -> float:
        value = kind(text)
        if not value >= least:
            raise argparse.ArgumentTypeError(f"{text} is less than {least}")
        return value

    number.__name__ = kind.__name__  # argparse names it where the text is no number
    return number


def add_semantics(parser: argparse.ArgumentParser) -> None:
    """Adds what sentences mean."""
    help_ = f"what sentences mean ({', '.join(JUDGES)}; or MODULE:CLASS, a judge of your own)"
    parser.add_argument("--semantics", required=True, help=help_)


def add_judge(parser: argparse.ArgumentParser) -> None:
    """Adds what sentences mean, who judges answers, and how long that may take."""
    add_semantics(parser)
    add = parser.add_argument
    choices = "; ".join(f"{semantics}: {', '.join(names)}" for semantics, names in JUDGES.items())
    add("--judge", help=f"who decides, by default the first ({choices})")
    seconds = at_least(0.001, float)
    add("--timeout", type=seconds, default=30.0, help="seconds per answer (default: %(default)s)")
