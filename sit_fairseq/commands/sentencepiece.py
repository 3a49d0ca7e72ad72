r"""Trains a SentencePiece model that keeps interchangeable tokens whole.

    sit sentencepiece data/train.src data/train.tgt --model-prefix data/spm \
        --vocab-size 500 --symbols '<ent0>..<ent99>'
    sit sentencepiece --encode data/spm.model data/train.src data/pieces.src

The first form writes ``data/spm.model`` and ``.vocab``. Every symbol becomes a piece of its own.
Symbols need not occur in the text and cost nothing in a stream model, so that one may declare as
many as will ever be wanted; pass their pattern, here ``--symbols '<ent[0-9]+>'``, to fairseq-train.
The second form splits a file into pieces for fairseq-preprocess. Afterwards fairseq's commands read
and print plain text with ``--bpe sentencepiece --sentencepiece-model data/spm.model``.
"""

import argparse

from sit_fairseq.commands import _options
from sit_fairseq.errors import UserError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("files", metavar="FILE", nargs="+", help="texts to learn from; with --encode: IN OUT")
    add("--encode", metavar="MODEL", help="split IN into pieces of this model")
    add("--model-prefix", metavar="PREFIX", help="write PREFIX.model and PREFIX.vocab")
    size_help = "most pieces, symbols not counted (default: %(default)s)"
    add("--vocab-size", type=int, default=8000, help=size_help)
    symbols_help = "interchangeable tokens, for example '<ent0>..<ent99>,<date>'"
    add("--symbols", type=_options.names, help=symbols_help)


def main(args: argparse.Namespace) -> None:
    from sit_fairseq.datasets.sentencepiece import encode, train

    if args.encode is not None:
        if len(args.files) != 2:
            raise UserError("--encode MODEL needs two files: the text and where the pieces go")
        encode(args.encode, *args.files)
        return
    if args.model_prefix is None or args.symbols is None:
        raise UserError("name the model by --model-prefix and the tokens to keep by --symbols")
    train(args.files, args.model_prefix, args.vocab_size, args.symbols)
    print(f"{args.model_prefix}.model keeps {len(args.symbols)} symbols whole")
