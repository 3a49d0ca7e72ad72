"""Begins a task of your own: a folder that runs as it is, on a toy with two sorts of symbols.

    sit init my_task
    bash my_task/run.sh

``data.py`` makes pairs and ``judge.py`` decides which answers are right: put your own there.
``training.yaml`` says how models are trained and what is a symbol, ``table.yaml`` which models are
trained and measured. ``run.sh`` does it all, for this model and for a transformer that learns a
vector for each name, and prints one table.
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
    with explaining_failure(args.folder):
        hidden = shutil.ignore_patterns("__pycache__")
        shutil.copytree(Path(__file__).parent / "_template", args.folder, ignore=hidden)
    print(f"bash {args.folder}/run.sh trains a toy and prints a table, in some minutes")
