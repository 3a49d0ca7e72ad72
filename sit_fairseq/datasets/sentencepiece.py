"""SentencePiece models that keep interchangeable tokens whole."""

import io
from typing import List, Sequence

import sentencepiece

from sit_fairseq.errors import UserError
from sit_fairseq.storage.files import partial_files, read_sentences, replacing

# fairseq's special tokens are its dictionary's business; SentencePiece insists on <unk>.
_SPECIALS = {"unk_id": 0, "bos_id": -1, "eos_id": -1, "pad_id": -1}


def train(texts: Sequence[str], prefix: str, vocab_size: int, symbols: List[str]) -> None:
    """Trains a BPE model: ``PREFIX.model`` and ``PREFIX.vocab``.

    Args:
        texts: files of plain text.
        prefix: names the files.
        vocab_size: most pieces, symbols and ``<unk>`` not counted.
        symbols: tokens that become pieces of their own.

    Raises:
        UserError: SentencePiece refuses the size.
    """
    lines = [line for text in texts for line in read_sentences(text)]
    model = io.BytesIO()  # a file's name would stand in the model
    with partial_files(prefix + ".model", prefix + ".vocab") as (model_file, vocabulary_file):
        try:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter(lines),
                model_writer=model,
                vocab_size=vocab_size + len(symbols) + 1,
                user_defined_symbols=symbols,
                model_type="bpe",
                character_coverage=1.0,
                hard_vocab_limit=False,  # a small text has fewer pieces
                minloglevel=2,
                **_SPECIALS,
            )
        except RuntimeError as error:
            reason = str(error).splitlines()[-1]
            raise UserError(
                f"SentencePiece cannot learn {vocab_size} pieces: {reason}", "vocab_size"
            )
        pieces = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
        with open(model_file, "wb") as binary:
            binary.write(model.getvalue())
        with open(vocabulary_file, "w", encoding="utf-8") as text:
            for index in range(len(pieces)):
                text.write(f"{pieces.id_to_piece(index)}\t{pieces.get_score(index):g}\n")


def encode(model: str, source: str, target: str) -> None:
    """Writes each line of a plain text as pieces apart by spaces; a UserError without a model."""
    try:
        processor = sentencepiece.SentencePieceProcessor(model_file=model)
    except (OSError, RuntimeError):
        raise UserError(f"{model} is no SentencePiece model; train one first")
    with replacing(target) as (out,):
        for line in read_sentences(source):
            out.write(" ".join(processor.encode(line, out_type=str)) + "\n")
