"""Exports a model to ONNX, to be used without fairseq and torch.

    sit export-onnx checkpoints/prop/model.pt prop.onnx
    echo 'xor a & b c' | python examples/deployment/answer.py prop.onnx

writes ``encoder.onnx``, ``decoder.onnx``, a step with its key-value cache, and
``vocabulary.json``: base tokens, pattern of the symbols, positions and whatever else a program
needs that uses them. Numbers of tokens, symbols and hypotheses are free. Before anything is
written, answers are compared with fairseq's: greedy and with a beam of 3, on random sentences of up
to --check-symbols symbols and --check-tokens tokens, which should be three times the symbols and
twice the tokens of training. Models with streams, of every attention pattern, positions, head and norm,
and those of --symbol-embedding fixed can be exported.
"""

import argparse
import os

from sit_fairseq.errors import UserError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the verb."""
    add = parser.add_argument
    add("checkpoint", metavar="CHECKPOINT", help="a trained model")
    add("folder", metavar="DIR", help="where the files go; it is made if there is none")
    add(
        "--check-symbols",
        type=int,
        default=15,
        metavar="N",
        help="most different symbols of a sentence that answers are compared on (default: "
        "%(default)s)",
    )
    add(
        "--check-tokens",
        type=int,
        default=40,
        metavar="N",
        help="most tokens of such a sentence (default: %(default)s)",
    )


def main(args: argparse.Namespace) -> None:
    """Writes the files.

    Raises:
        UserError: the checkpoint cannot be exported, or answers differ.
    """
    try:
        from sit_fairseq.export.exporting import export_onnx
        from sit_fairseq.export.self_check import Sentences
    except ModuleNotFoundError as error:
        raise UserError(
            f"sit export-onnx needs the package {error.name}: pip install onnx onnxscript "
            "onnxruntime"
        )
    for option in ("check_symbols", "check_tokens"):
        if getattr(args, option) < 1:
            raise UserError(f"--{option.replace('_', '-')} must be at least 1")
    sentences = Sentences(symbols=args.check_symbols, tokens=args.check_tokens)
    print(export_onnx(args.checkpoint, args.folder, sentences))
    for name in sorted(os.listdir(args.folder)):
        if name.endswith((".onnx", ".json")):
            path = os.path.join(args.folder, name)
            print(f"{path}: {os.path.getsize(path) / 2**20:.2f} MiB")
