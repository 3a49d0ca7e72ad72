r"""Writes formulas that people wrote, to be measured on and never trained on.

    sit generate real ltl data/real     # patterns.src, negated_patterns.src, wide.src
    sit generate real prop data/real    # networks.src, negated_networks.src, wide.src

*patterns* are the specification patterns that ship with Spot, of at most 35 tokens; *networks* the
functions of the gene networks that ship with pyboolnet (``pip install pyboolnet``), of at most 60;
*wide* are conjunctions of 2 to 16 literals. No formula of a file is a renaming of another. Training
data leave them out by ``--exclude OUT_DIR/*.src``.
"""

import argparse
import os

from sit_fairseq.domains import find, names
from sit_fairseq.storage.files import replacing


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "semantics",
        choices=[name for name in names() if find(name).held_out is not None],
        help="the logic",
    )
    parser.add_argument("out_dir", metavar="OUT_DIR", help="write OUT_DIR/SET.src")


def main(args: argparse.Namespace) -> None:
    sets = find(args.semantics).held_out()
    paths = [os.path.join(args.out_dir, f"{name}.src") for name in sets]
    with replacing(*paths) as files:
        for file, path, formulas in zip(files, paths, sets.values()):
            file.writelines(f"{formula}\n" for formula in formulas)
            print(f"{path}: {len(formulas)} formulas")
