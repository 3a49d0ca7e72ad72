"""Shows that exported files answer as fairseq does."""

import itertools
import random
from argparse import Namespace
from dataclasses import dataclass
from typing import Iterator, List, Sequence, Tuple

import torch

from sit_fairseq.errors import UserError
from sit_fairseq.evaluation.decoding import CheckpointDecoder
from sit_fairseq.export.answer import ExportedModel

# Of scores. They are sums of some dozens of float32 numbers, in another order.
TOLERANCE = 1e-5

BEAMS = (1, 3)

# Names for symbols that no model has for base tokens.
_NAMES = r"symbol\d+"


@dataclass(frozen=True)
class Sentences:
    """Random sentences to compare answers to.

    Attributes:
        number: how many.
        symbols: the most different symbols in one.
        tokens: the most tokens in one, and twice that in an answer.
    """

    number: int = 200
    symbols: int = 15
    tokens: int = 40

    def draw(self, exported: ExportedModel, names: Sequence[str]) -> List[str]:
        """Draws sentences that a model reads: formulas, if its positions are those of trees.

        Args:
            exported: the model.
            names: of symbols.
        """
        rng = random.Random(1)
        tree = exported.vocabulary["tree"]
        longest = min(self.tokens, exported.vocabulary["longest"]["source"] - 1)
        leaves = [token for token in exported.rows if tree is None or token not in tree["arity"]]
        leaves = [token for token in leaves if token not in names]
        sentences: List[str] = []
        for number in range(self.number):
            length = 1 + number * longest // self.number  # all lengths, the longest too
            chosen = rng.sample(names, min(len(names), 1 + number % self.symbols))
            shape = ["leaf"] * length if tree is None else _shape(rng, tree["arity"], length)
            symbols = itertools.cycle(chosen)  # so that each is there, if there is room
            words = [token if token != "leaf" else _leaf(rng, symbols, leaves) for token in shape]
            sentences.append(" ".join(words))
        return sentences


def _leaf(rng: random.Random, symbols: Iterator[str], others: List[str]) -> str:
    return rng.choice(others) if others and rng.random() < 0.1 else next(symbols)


def _shape(rng: random.Random, arity: dict, length: int) -> List[str]:
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


@dataclass(frozen=True)
class Agreement:
    """How the answers of both compare.

    Attributes:
        sentences: how many.
        symbols: the most different symbols in one.
        tokens: the most tokens in one.
        ties: answers of which both have another, with scores that are equal but for rounding.
        difference: the largest of scores.
    """

    sentences: int
    symbols: int
    tokens: int
    ties: int
    difference: float

    def __str__(self) -> str:
        ties = f", but for {self.ties} of equal scores" if self.ties else ""
        return (
            f"{self.sentences} sentences of up to {self.symbols} symbols and {self.tokens} tokens: "
            f"greedy and beam {BEAMS[-1]} answers are those of fairseq{ties}; scores differ by at "
            f"most {self.difference:.1e}"
        )


def compare(decoder: CheckpointDecoder, folder: str, sentences: Sentences) -> Agreement:
    """Compares answers of exported files with those of fairseq, sentence by sentence.

    Args:
        decoder: of the checkpoint. Afterwards its symbols have other names.
        folder: the files.
        sentences: which to compare on.

    Raises:
        UserError: an answer or a score differs.
    """
    if decoder.model.vocabulary.one_stream:
        exported = ExportedModel(folder, symbols=decoder.symbols)
        names = decoder.task.source_dictionary.known_symbols()[: sentences.symbols]
    else:
        exported = ExportedModel(folder, symbols=_NAMES)
        decoder.task.source_dictionary.set_pattern(_NAMES)
        names = [f"symbol{number}" for number in range(sentences.symbols)]
    lines = sentences.draw(exported, names)
    ties, difference = 0, 0.0
    for beam in BEAMS:
        options = Namespace(beam=beam, max_len_a=0, max_len_b=2 * sentences.tokens)
        generator = decoder.task.build_generator([decoder.model], options)
        for line in lines:
            text, score = _answer(decoder, generator, line)
            answer = exported.answer(line, beam, max_length=2 * sentences.tokens)
            off = abs(score - float(answer.score))
            if not off <= TOLERANCE:
                raise UserError(
                    f"the exported files answer {line!r} with {answer.text!r} and score "
                    f"{answer.score}, fairseq with {text!r} and {score} (beam {beam}); nothing was "
                    "written: this checkpoint cannot be exported"
                )
            difference = max(difference, off)
            ties += answer.text != text
    words = [line.split() for line in lines]
    return Agreement(
        len(lines),
        max(len(set(line).intersection(names)) for line in words),
        max(map(len, words)),
        ties,
        difference,
    )


@torch.no_grad()
def _answer(decoder: CheckpointDecoder, generator, line: str) -> Tuple[str, float]:
    """fairseq's best answer to a sentence, in a batch of its own."""
    task = decoder.task
    dataset = task.build_dataset_for_inference(
        *task.get_interactive_tokens_and_lengths([line], lambda line: line)
    )
    sample = dataset.collater([dataset[0]])
    best = task.inference_step(generator, [decoder.model], sample)[0][0]
    return task.target_dictionary.string(best["tokens"].int().cpu()), float(best["score"])
