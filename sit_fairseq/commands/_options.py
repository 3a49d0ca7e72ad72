"""Options that several verbs have."""

import argparse

from sit_fairseq.judging.judge import JUDGES


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
    add("--timeout", type=float, default=30.0, help="seconds per answer (default: %(default)s)")
