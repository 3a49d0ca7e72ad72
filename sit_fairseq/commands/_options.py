"""Options that several verbs have, and types of their values."""

import argparse
import re
from typing import List

from sit_fairseq.datasets.options import JoinLines, at_least
from sit_fairseq.domains import find
from sit_fairseq.domains import names as names_of
from sit_fairseq.domains.by_name import SEMANTICS


def numbers(text: str) -> List[int]:
    """The type of distinct positive numbers separated by commas, in ascending order."""
    return sorted(set(map(at_least(1), text.split(","))))


def names(text: str) -> List[str]:
    """The type of names of any form: ``a,b``; ``<ent0>..<ent99>`` stands for a hundred of them."""
    found: List[str] = []
    for item in text.split(","):
        first, dots, last = item.partition("..")
        if not dots:
            found.append(first)
            continue
        ends = [re.fullmatch(r"(\D*)(\d+)(\D*)", end) for end in (first, last)]
        if None in ends or ends[0].group(1, 3) != ends[1].group(1, 3):
            raise argparse.ArgumentTypeError(
                f"the ends of {item!r} must differ in one number only, as in '<ent0>..<ent99>'"
            )
        before, start, after = ends[0].groups()
        found += [f"{before}{n}{after}" for n in range(int(start), int(ends[1][2]) + 1)]
    if len(set(found)) < len(found) or any(not name or re.search(r"\s", name) for name in found):
        raise argparse.ArgumentTypeError(
            f"the names in {text!r} must be distinct and without spaces"
        )
    return found


def add_pattern(parser: argparse.ArgumentParser, help_: str, required: bool = False) -> None:
    """Adds ``--symbols``, the pattern that says which tokens are symbols."""
    help_ += "; with several sorts, NAME=REGEX for each"
    more = {"nargs": "+", "action": JoinLines, "metavar": "REGEX", "required": required}
    parser.add_argument("--symbols", **more, help=help_)


def add_judge(parser: argparse.ArgumentParser, semantics: bool = True) -> None:
    """Adds ``--semantics`` (if ``semantics``), ``--judge`` and ``--timeout``."""
    add = parser.add_argument
    if semantics:
        help_ = f"what sentences mean ({', '.join(SEMANTICS)}; or MODULE:OBJECT, your own)"
        add("--semantics", required=True, help=help_)
    choices = "; ".join(f"{one.name}: {', '.join(one.judges)}" for one in map(find, names_of()))
    add("--judge", help=f"the judge, by default the first ({choices})")
    seconds = at_least(0.001, float)
    add("--timeout", type=seconds, default=30.0, help="seconds per answer (default: %(default)s)")
