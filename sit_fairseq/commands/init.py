"""Begins a domain of your own: a folder that runs as it is, on a toy with two sorts of symbols.

    sit init my_domain
    bash my_domain/run.sh

``domain.py`` says what a symbol is, how problems are drawn, which answers are right, and which are
well-formed. ``run.sh`` makes data, trains a model, measures it and prints a table.
"""

import argparse
import shutil
from pathlib import Path

from sit_fairseq.errors import UserError
from sit_fairseq.storage.files import explaining_failure


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="DIR", help="the folder to write; it must not exist")


def main(args: argparse.Namespace) -> None:
    if Path(args.folder).exists():
        raise UserError(f"{args.folder} exists; name a new folder")
    hidden = shutil.ignore_patterns("__pycache__")
    with explaining_failure(args.folder):
        try:
            shutil.copytree(Path(__file__).parent / "_template", args.folder, ignore=hidden)
        except shutil.Error as error:  # of several files, each with its reason
            shutil.rmtree(args.folder)
            raise UserError(f"Cannot write {args.folder}: {error.args[0][0][2]}")
    print(f"bash {args.folder}/run.sh trains a toy and prints a table, in some minutes")
