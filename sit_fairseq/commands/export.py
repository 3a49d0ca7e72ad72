"""Makes a small checkpoint to ship: half precision, no optimizer, no paths.

    sit export outputs/ltl-mini/model/checkpoint_last.pt checkpoints/ltl

writes ``checkpoints/ltl/model.pt``, which fairseq-generate, fairseq-interactive and
``--finetune-from-model`` accept, and the dictionaries that they ask for: they hold the base
tokens alone, as symbols need no entry. Prints the SHA-256 for the model's card.

--hub writes a folder that can be uploaded as it is: ``model.safetensors``, ``config.json``, the
dictionaries and the card, ``README.md`` beside the checkpoint under a heading of tags and licence,
if it has none, or a table of the model's options where there is no such file.
``from_pretrained(DIR)`` reads the folder, and fairseq's commands take
``--path DIR/model.safetensors``.
"""

import argparse
import os

from sit_fairseq.conversion.exporting import export, export_hub
from sit_fairseq.evaluation.result_file import sha256_of_file


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the verb."""
    parser.add_argument("checkpoint", metavar="CHECKPOINT", help="a trained stream model")
    parser.add_argument("folder", metavar="DIR", help="write DIR/model.pt and DIR/dict.*.txt")
    parser.add_argument(
        "--hub",
        action="store_true",
        help="write DIR/model.safetensors, DIR/config.json and DIR/README.md in place of model.pt",
    )


def main(args: argparse.Namespace) -> None:
    """Writes the files.

    Raises:
        UserError: the checkpoint is not that of a stream model, or cannot be read.
    """
    model = (export_hub if args.hub else export)(args.checkpoint, args.folder)
    size = os.path.getsize(model) / 2**20
    print(f"{model}: {size:.2f} MiB, sha256 {sha256_of_file(model)}")
