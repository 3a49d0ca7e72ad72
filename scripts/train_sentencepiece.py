"""Trains a SentencePiece model that keeps interchangeable tokens whole.

    python scripts/train_sentencepiece.py data/train.src data/train.tgt --model-prefix data/spm \
        --vocab-size 500 --symbols '<ent0>..<ent99>'
    python scripts/train_sentencepiece.py --encode data/spm.model data/train.src data/pieces.src

The first form writes ``data/spm.model`` and ``.vocab``. Every symbol becomes a piece of its
own that is never split or merged. Symbols need not occur in the text and cost nothing in a
stream model, so that one may declare as many as will ever be wanted; pass their pattern,
here ``--symbols '<ent[0-9]+>'``, to fairseq-train. The second form splits a file into
pieces for fairseq-preprocess. Afterwards ``--bpe sentencepiece --sentencepiece-model
data/spm.model`` lets fairseq-interactive read plain text and fairseq-generate and
fairseq-interactive print it.
"""

import argparse
import os
import tempfile
from typing import List, Optional, Sequence

import sentencepiece

from sit_fairseq.data.generated_files import parse_names
from sit_fairseq.errors import UserError
from sit_fairseq.files import replacing
from sit_fairseq.logic.syntax import read_sentences

# fairseq's special tokens are its dictionary's business; SentencePiece insists on <unk>.
_SPECIALS = {"unk_id": 0, "bos_id": -1, "eos_id": -1, "pad_id": -1}


def train(texts: Sequence[str], prefix: str, vocab_size: int, symbols: List[str]) -> None:
    """Trains a BPE model and moves it into place.

    Args:
        texts: files of plain text.
        prefix: write ``prefix.model`` and ``prefix.vocab``.
        vocab_size: most pieces, symbols and ``<unk>`` not counted.
        symbols: tokens that are pieces of their own.

    Raises:
        UserError: SentencePiece refuses the size.
    """
    lines = [line for text in texts for line in read_sentences(text)]
    directory = os.path.dirname(prefix) or "."
    os.makedirs(directory, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=directory) as partial:
        model = os.path.join(partial, "spm")
        try:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter(lines),
                model_prefix=model,
                vocab_size=vocab_size + len(symbols) + 1,
                user_defined_symbols=symbols,
                model_type="bpe",
                character_coverage=1.0,
                hard_vocab_limit=False,  # a small text has fewer pieces
                minloglevel=2,
                **_SPECIALS,
            )
        except RuntimeError as error:
            raise UserError(
                f"SentencePiece cannot learn {vocab_size} pieces from this text, change "
                f"--vocab-size: {str(error).splitlines()[-1]}"
            )
        for ending in (".model", ".vocab"):
            os.replace(model + ending, prefix + ending)


def encode(model: str, source: str, target: str) -> None:
    """Splits each line of a file into pieces.

    Args:
        model: a SentencePiece model.
        source: plain text.
        target: is written, pieces separated by spaces.

    Raises:
        UserError: the model cannot be read.
    """
    try:
        processor = sentencepiece.SentencePieceProcessor(model_file=model)
    except (OSError, RuntimeError):
        raise UserError(f"{model} is no SentencePiece model; train one first")
    os.makedirs(os.path.dirname(target) or ".", exist_ok=True)
    with replacing(target) as (out,):
        for line in read_sentences(source):
            out.write(" ".join(processor.encode(line, out_type=str)) + "\n")


def parse_args(argv: Optional[Sequence[str]]) -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("files", metavar="FILE", nargs="+", help="texts to learn from; with --encode: IN OUT")
    add("--encode", metavar="MODEL", help="split IN into pieces of this model")
    add("--model-prefix", metavar="PREFIX", help="write PREFIX.model and PREFIX.vocab")
    add(
        "--vocab-size",
        type=int,
        default=8000,
        help="most pieces, symbols not counted (default: %(default)s)",
    )
    add("--symbols", help="interchangeable tokens, for example '<ent0>..<ent99>,<date>'")
    return parser.parse_args(argv)


def main(argv: Optional[Sequence[str]] = None) -> None:
    """Runs the script.

    Args:
        argv: the command line, without the program's name; None for the real one.

    Raises:
        UserError: an option or a file cannot be used.
    """
    args = parse_args(argv)
    if args.encode is not None:
        if len(args.files) != 2:
            raise UserError("--encode MODEL needs two files: the text and where the pieces go")
        encode(args.encode, *args.files)
        return
    if args.model_prefix is None or args.symbols is None:
        raise UserError("name the model by --model-prefix and the tokens to keep by --symbols")
    symbols = parse_names(args.symbols)
    train(args.files, args.model_prefix, args.vocab_size, symbols)
    print(f"{args.model_prefix}.model keeps {len(symbols)} symbols whole")


if __name__ == "__main__":
    main()
