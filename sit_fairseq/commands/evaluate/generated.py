"""Prints a table of what fairseq-generate answered to several test sets.

    sit evaluate generated DIR --semantics ltl test='5 symbols' unseen='10 symbols never seen'

reads what ``fairseq-generate --scoring semantic`` left in DIR of each test set: its output
``test.txt``, its log ``test.log``, and its outputs on renamed copies, ``test.renamed1.txt``
and so on. With such copies it counts the sentences that got the renamed answer with the same
score to the last printed digit, and shows one of them. Where answers are compared with references,
``--symbols REGEX`` says which tokens are symbols; right answers are then counted by their number.
"""

import argparse
from typing import Tuple

from sit_fairseq.commands._options import add_semantics
from sit_fairseq.evaluation.generated_sets import report_generated


def _labelled(text: str) -> Tuple[str, str]:
    """Reads SET=LABEL."""
    name, equals, label = text.partition("=")
    if not (name and equals and label):
        raise ValueError
    return name, label


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the verb."""
    add = parser.add_argument
    add("folder", metavar="DIR", help="has the outputs")
    add("sets", metavar="SET=LABEL", nargs="+", type=_labelled, help="test sets in order")
    add_semantics(parser)
    add("--symbols", metavar="REGEX", help="matches symbols in full, for what is no formula")


def main(args: argparse.Namespace) -> None:
    """Does what the verb says.

    Raises:
        UserError: an option or a file cannot be used.
    """
    print("\n" + report_generated(args.folder, dict(args.sets), args.semantics, args.symbols))
