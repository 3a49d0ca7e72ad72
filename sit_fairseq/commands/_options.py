"""Options that several verbs have, and types of their values."""

import argparse
import re
from typing import List

from sit_fairseq.datasets.options import JoinLines, at_least


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
        places = range(int(start), int(ends[1][2]) + 1)
        if not places:
            raise argparse.ArgumentTypeError(f"{item!r} ends before it begins")
        found += [f"{before}{n:0{len(start)}d}{after}" for n in places]
    if len(set(found)) < len(found) or any(not name or re.search(r"\s", name) for name in found):
        rule = "must be distinct and without spaces"
        raise argparse.ArgumentTypeError(f"the names in {text!r} {rule}")
    return found


def add_pattern(parser: argparse.ArgumentParser, help_: str, required: bool = False) -> None:
    """Adds ``--symbols``, the pattern that says which tokens are symbols."""
    help_ += "; with several sorts, NAME=REGEX for each"
    more = {"nargs": "+", "action": JoinLines, "metavar": "REGEX", "required": required}
    parser.add_argument("--symbols", **more, help=help_)
