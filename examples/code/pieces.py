"""Splits functions into the tokens of language models: pieces of words, and local names.

    python -m examples.code.pieces outputs/code/data

trains DATA/spm.model on the training data, and writes ``train``, ``valid`` and ``dict.txt`` for
fairseq-preprocess into three folders. No word is unknown, as rare signs are spelled by bytes.

    symbols    each local name is a token, called $v0, $v1, ... by first use
    plain      local names are spelled like all other words
    exchanged  so too, and each second function has other local names of training
"""

from functools import lru_cache
from itertools import chain, compress
from pathlib import Path
from random import Random
from typing import List, Sequence

import sentencepiece

from examples.code.functions import MOST_NAMES
from examples.code.words import LAYOUT, MARK, PATTERN
from examples.script import run
from sit_fairseq.storage.files import make_folder, read_sentences, replacing
from sit_fairseq.symbols.renaming import Renaming

PIECES = 1000
LONGEST = 500  # tokens of a function; some have long strings
NAMES = [f"{MARK}v{number}" for number in range(MOST_NAMES)]


class Speller:
    """Spells words by the pieces of a SentencePiece model."""

    def __init__(self, file: Path) -> None:
        self._model = sentencepiece.SentencePieceProcessor(model_file=str(file))
        self.word = lru_cache(None)(self._word)

    @property
    def tokens(self) -> List[str]:
        """All pieces, and the tokens of the layout."""
        every = range(self._model.get_piece_size())
        return [self._model.id_to_piece(i) for i in every if not self._model.is_unknown(i)] + [
            *LAYOUT
        ]

    def spell(self, words: Sequence[str], names_too: bool) -> List[List[str]]:
        """The tokens of each word; a local name is one token, unless names are spelled too."""
        found = []
        for word in words:
            symbol = PATTERN.is_symbol(word)
            if symbol and not names_too:
                found.append([word])
            else:
                found.append(self.word(word.removeprefix(MARK) if symbol else word))
        return found

    def _word(self, word: str) -> List[str]:
        return [word] if word in LAYOUT else self._model.encode(word, out_type=str)

    def text(self, tokens: Sequence[str]) -> str:
        """The word of tokens."""
        return self._model.decode(list(tokens))


def train(file: Path, lines: List[str]) -> Speller:
    """Trains a SentencePiece model on functions, whose names it reads like other words."""
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=(
            " ".join(word.removeprefix(MARK) for word in line.split() if word not in LAYOUT)
            for line in lines
        ),
        model_prefix=str(file.with_suffix("")),
        vocab_size=PIECES,
        model_type="bpe",
        character_coverage=0.999,
        byte_fallback=True,
        normalization_rule_name="identity",
        user_defined_symbols=[MARK],  # no piece has it: no piece is a symbol
        hard_vocab_limit=False,
        minloglevel=2,
        **{"unk_id": 0, "bos_id": -1, "eos_id": -1, "pad_id": -1},  # fairseq has its own
    )
    return Speller(file)


def numbered(words: Sequence[str]) -> List[str]:
    """A function with its local names called $v0, $v1, ... by first use."""
    symbols = PATTERN.symbols(words)
    return Renaming(dict(zip(symbols, NAMES))).tokens(words)


def exchanged(functions: List[List[str]], rng: Random) -> List[List[str]]:
    """Functions, of which each second one gets other local names, drawn from those of all."""
    names = sorted({name for words in functions for name in PATTERN.symbols(words)})
    found = list(functions)
    for place in range(1, len(functions), 2):
        words, symbols = functions[place], PATTERN.symbols(functions[place])
        drawn = rng.sample(names, min(len(names), 3 * MOST_NAMES))
        # Globals and attributes keep their meaning.
        free = [name for name in drawn if name not in symbols and name[1:] not in words]
        found[place] = Renaming(dict(zip(symbols, free))).tokens(words)
    return found


def main(folder: Path) -> None:
    """Trains the pieces and splits the training and validation data."""
    texts = {split: read_sentences(str(folder / split)) for split in ("train", "valid")}
    speller = train(folder / "spm.model", texts["train"])
    for split, lines in texts.items():
        functions = [line.split() for line in lines]
        others = exchanged(functions, Random(1))
        spelled = {
            "symbols": [speller.spell(numbered(words), names_too=False) for words in functions],
            "plain": [speller.spell(words, names_too=True) for words in functions],
            "exchanged": [speller.spell(words, names_too=True) for words in others],
        }
        lengths = [[sum(map(len, words)) for words in every] for every in spelled.values()]
        short = [max(one) < LONGEST for one in zip(*lengths)]
        for name, every in spelled.items():
            make_folder(str(folder / name))
            with replacing(str(folder / name / split)) as (file,):
                for words in compress(every, short):
                    file.write(" ".join(chain(*words)) + "\n")
    for name in spelled:
        tokens = [*speller.tokens, *(NAMES if name == "symbols" else ())]
        with replacing(str(folder / name / "dict.txt")) as (file,):
            file.writelines(f"{token} 1\n" for token in tokens)


if __name__ == "__main__":
    run(main)
