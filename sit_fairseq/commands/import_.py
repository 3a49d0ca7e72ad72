"""Turns published data sets into sentence pairs for fairseq-preprocess.

    sit import pairs --semantics ltl ltl-35-supp data/ltl --check 1000
    sit import pairs --semantics prop test.txt data/test
    sit import pickle eval2d-10ap.pkl heat_map.jsonl
    sit import heatmap heat_map.jsonl data/grid

``pairs`` reads files of two lines per sample, a formula and its trace or assignment, in the
notation without spaces of DeepLTL and of the data sets made like it (ltl-35, ltl-35-supp,
prop-35): ``&!ab`` and ``&!ab;{1}``, ``a1b0``. Of a folder it reads train.txt, val.txt and
test.txt, those there are, and writes OUT/train.src, OUT/train.tgt and so on.

``heatmap`` reads one JSON object per line (symbols, length, formula, and trace or
assignment) and writes a folder with grid.src, grid.tgt and manifest.json, cells ordered by
number of symbols and length. Lengths there are numbers of tokens.

``pickle`` turns the pickled heat maps that go with the published code into such lines. It
runs nothing that a pickle asks for and refuses one that asks for more than plain data.
"""

import argparse

from sit_fairseq.datasets.imports import import_heat_map, import_pairs, import_pickle
from sit_fairseq.datasets.published import ANSWERS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the verb."""
    commands = parser.add_subparsers(dest="command", required=True)
    for name, source, target in (
        ("pairs", "file or folder", "prefix of the files, or folder, to be written"),
        ("heatmap", "file of JSON lines", "folder to be written"),
        ("pickle", "pickle", "file of JSON lines to be written"),
    ):
        add = commands.add_parser(name).add_argument
        add("input", metavar="IN", help=source)
        add("output", metavar="OUT", help=target)
        add(
            "--semantics",
            choices=sorted(ANSWERS),
            required=name == "pairs",
            default="ltl",
            help="what the formulas mean" + ("" if name == "pairs" else " (default: %(default)s)"),
        )
        if name == "pickle":
            continue
        add(
            "--skip-malformed",
            action="store_true",
            help="leave out lines that cannot be read, and list them in a file",
        )
        add("--check", type=int, default=0, metavar="N", help="judge the first N samples")


def main(args: argparse.Namespace) -> None:
    """Turns the data into pairs, a grid or lines.

    Raises:
        UserError: an option or a file cannot be used.
    """
    place = (args.input, args.output, args.semantics)
    if args.command == "pickle":
        print(import_pickle(*place))
    elif args.command == "heatmap":
        print(import_heat_map(*place, args.skip_malformed, args.check))
    else:
        for summary in import_pairs(*place, args.skip_malformed, args.check):
            print(summary)
