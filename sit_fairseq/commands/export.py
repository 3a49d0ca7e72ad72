"""Makes a small checkpoint to ship: half precision, no optimizer, no paths.

    sit export outputs/ltl-mini/model/checkpoint_last.pt checkpoints/ltl

writes ``checkpoints/ltl/model.pt``, which fairseq-generate, fairseq-interactive and
``--finetune-from-model`` accept, and the dictionaries that they ask for: they hold the base
tokens alone, as symbols need no entry. Prints the SHA-256 for the model's card.
"""

import argparse
import os

from sit_fairseq.conversion.exporting import export
from sit_fairseq.evaluation.result_file import sha256_of_file


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the verb."""
    parser.add_argument("checkpoint", metavar="CHECKPOINT", help="a trained stream model")
    parser.add_argument("folder", metavar="DIR", help="write DIR/model.pt and DIR/dict.*.txt")


def main(args: argparse.Namespace) -> None:
    """Writes the files.

    Raises:
        UserError: the checkpoint is not that of a stream model, or cannot be read.
    """
    model = export(args.checkpoint, args.folder)
    size = os.path.getsize(model) / 2**20
    print(f"{model}: {size:.2f} MiB, sha256 {sha256_of_file(model)}")
