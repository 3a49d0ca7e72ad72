"""Splits the texts of DIR/text into pieces, by a SentencePiece model that keeps placeholders whole.

    python -m examples.entities.pieces DIR

trains DIR/spm.model on the training data and writes DIR/train.src and so on.
"""

from pathlib import Path

import sentencepiece

from examples.script import run


def train(folder: Path) -> sentencepiece.SentencePieceProcessor:
    """Trains the model: 120 pieces and a hundred placeholders, as by ``spm_train``'s options."""
    sentencepiece.SentencePieceTrainer.train(
        input=[f"{folder}/text/train.src", f"{folder}/text/train.tgt"],
        model_prefix=f"{folder}/spm",
        user_defined_symbols=[f"<ent{number}>" for number in range(100)],
        vocab_size=120 + 100 + 1,
        model_type="bpe",
        character_coverage=1.0,
        hard_vocab_limit=False,  # a small text has fewer pieces
        minloglevel=2,
        **{"unk_id": 0, "bos_id": -1, "eos_id": -1, "pad_id": -1},  # fairseq has its own
    )
    return sentencepiece.SentencePieceProcessor(model_file=f"{folder}/spm.model")


def main(folder: Path) -> None:
    """Trains the model and splits all texts."""
    model = train(folder)
    for text in sorted((folder / "text").iterdir()):
        lines = text.read_text(encoding="utf-8").splitlines()
        pieces = "".join(" ".join(line) + "\n" for line in model.encode(lines, out_type=str))
        (folder / text.name).write_text(pieces, encoding="utf-8")


if __name__ == "__main__":
    run(main)
