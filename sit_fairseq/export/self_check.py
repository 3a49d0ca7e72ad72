"""Shows that exported files answer as the model does."""

import itertools
import random
import time
from dataclasses import dataclass
from typing import Dict, List, Sequence

from tqdm import tqdm

from sit_fairseq.errors import UserError
from sit_fairseq.export.answer import ExportedModel
from sit_fairseq.model import Model

# Of scores: both compute in float32, in another order, and logits are as large as 10 or 30.
TOLERANCE = 1e-4

BEAMS = (1, 3)

# Sentences that a model knows the like of: short ones and long ones in turn, with few symbols and
# with many, and answers of the lengths that they have.
SENTENCES, LONGEST, SYMBOLS, LONGEST_ANSWER = 100, 24, 8, 40

# After that many seconds no other sentence is begun, but for the first ten on a busy machine.
SECONDS, LEAST = 25.0, 10


@dataclass(frozen=True)
class Agreement:
    """How the answers of both compare."""

    sentences: int
    symbols: int  # the most different ones in a sentence
    tokens: int  # the most in a sentence
    ties: int  # answers of which both have another, with scores that are equal but for rounding
    difference: float  # the largest of scores

    def __str__(self) -> str:
        ties = f", but for {self.ties} of equal scores" if self.ties else ""
        return (
            f"{self.sentences} sentences of up to {self.symbols} symbols and {self.tokens} tokens: "
            f"greedy and beam {BEAMS[-1]} answers are those of the model{ties}; scores differ by at "
            f"most {self.difference:.1e}"
        )


def random_sentences(exported: ExportedModel, names: Sequence[str]) -> List[str]:
    """Draws sentences over some names that a model reads: formulas, if it has tree positions."""
    rng = random.Random(1)
    tree = exported.vocabulary["tree"]
    arity = {} if tree is None else tree["arity"]
    others = [token for token in exported.rows if token not in arity and token not in names]
    longest = min(LONGEST, exported.vocabulary["longest"]["source"] - 1)
    sentences = []
    for _ in range(SENTENCES):
        length = rng.randint(1, longest)
        symbols = itertools.cycle(rng.sample(names, rng.randint(1, len(names))))
        words = ["leaf"] * length if tree is None else _shape(rng, arity, length)
        for place in [place for place, word in enumerate(words) if word == "leaf"]:
            other = others and rng.random() < 0.1
            words[place] = rng.choice(others) if other else next(symbols)
        sentences.append(" ".join(words))
    return sentences


def _shape(rng: random.Random, arity: Dict[str, int], length: int) -> List[str]:
    """A formula in prefix notation of about ``length`` tokens, all leaves being called so. It
    grows from a leaf by turning leaves into operators, so that it is as deep as it happens."""
    shape = ["leaf"]
    while len(shape) < length:
        operator = rng.choice(list(arity))
        place = rng.choice([place for place, token in enumerate(shape) if token == "leaf"])
        if len(shape) + arity[operator] > length:
            break
        shape[place : place + 1] = [operator, *["leaf"] * arity[operator]]
    return shape


def compare(model: Model, folder: str) -> Agreement:
    """Compares answers of the files in a folder with those of the model, sentence by sentence.

    Afterwards the symbols of the model have other names.

    Raises:
        UserError: an answer or a score differs.
    """
    vocabulary = model.core.vocabulary
    if vocabulary.one_stream:
        exported = ExportedModel(folder, symbols=model.symbols)
        names = [token for token in vocabulary.row_tokens if vocabulary.dictionary.is_symbol(token)]
        names = names[:SYMBOLS]
    else:
        # Names that no model has for base tokens, of all sorts in turn.
        sorts = vocabulary.dictionary.sorts
        heads = [f"{sort}=" if sort else "" for sort in sorts]
        pattern = "\n".join(rf"{head}symbol_of_{n}_\d+" for n, head in enumerate(heads))
        exported = ExportedModel(folder, symbols=pattern)
        vocabulary.dictionary.set_pattern(pattern)
        names = [f"symbol_of_{number % len(sorts)}_{number}" for number in range(SYMBOLS)]
    sentences, compared = random_sentences(exported, names), []
    ties, difference = 0, 0.0
    end = time.monotonic() + SECONDS
    for sentence in tqdm(sentences, desc="comparing answers", leave=False):
        if time.monotonic() > end and len(compared) >= LEAST:
            break
        for beam in BEAMS:
            (own,) = model.answer([sentence], beams=(beam,), max_length=LONGEST_ANSWER)
            answer = exported.answer(sentence, beam, max_length=LONGEST_ANSWER)
            off = abs(own.score - float(answer.score))
            if not off <= TOLERANCE:
                raise UserError(
                    f"the exported files answer {sentence!r} with {answer.text!r} and score "
                    f"{answer.score}, the model with {own.text!r} and {own.score} (beam {beam}); "
                    "nothing was written: this checkpoint cannot be exported"
                )
            difference = max(difference, off)
            ties += answer.text != own.text
        compared.append(sentence.split())
    symbols = max(len(set(names).intersection(words)) for words in compared)
    return Agreement(len(compared), symbols, max(map(len, compared)), ties, difference)
