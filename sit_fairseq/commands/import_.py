"""Turns published data sets into sentence pairs for fairseq-preprocess.

    sit import pairs --semantics ltl ltl-35-supp data/ltl
    sit import pairs --semantics prop test.txt data/test
    sit import heat-map --semantics ltl eval2d-10ap.pkl data/grid

``pairs`` reads files of two lines per sample, a formula and its trace or assignment, in the
notation without spaces of DeepLTL (ltl-35, ltl-35-supp, prop-35): ``&!ab`` and ``&!ab;{1}``,
``a1b0``. Of a folder it reads train.txt, val.txt and test.txt, those there are, and writes
OUT/train.src, OUT/train.tgt and so on.

``heat-map`` reads a pickled heat map of the published code and writes a grid (``sit generate
grid``). A pickle that asks for more than plain data is refused, and nothing of it is run.
"""

import argparse

from sit_fairseq.datasets.published import ANSWERS, import_heat_map, import_pairs


def add_arguments(parser: argparse.ArgumentParser) -> None:
    kinds = parser.add_subparsers(dest="kind", required=True)
    for kind, source, target in (
        ("pairs", "file or folder", "prefix of the files, or folder, to write"),
        ("heat-map", "pickle", "folder to write"),
    ):
        add = kinds.add_parser(kind).add_argument
        add("source", metavar="IN", help=source)
        add("target", metavar="OUT", help=target)
        add("--semantics", choices=sorted(ANSWERS), required=True, help="the logic")
        skip_help = "leave out samples that cannot be read, with a warning"
        add("--skip-malformed", action="store_true", help=skip_help)


def main(args: argparse.Namespace) -> None:
    do = import_pairs if args.kind == "pairs" else import_heat_map
    for summary in do(args.source, args.target, args.semantics, args.skip_malformed):
        print(summary)
