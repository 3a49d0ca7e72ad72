"""Does a converted model do what the original does?

On sentences whose only symbol is the one that lent its rows to *actual* there is one stream, and it must
be computed as the original computes the sentence, of which what both can produce counts.
"""

import itertools
import math
import os
import random
from dataclasses import dataclass
from typing import Iterator, List, Mapping, NamedTuple, Set, Tuple

import torch
import torch.nn.functional as F
from fairseq.data import data_utils
from torch import Tensor, nn

from sit_fairseq.conversion.original import Original, read_dictionary
from sit_fairseq.errors import UserError
from sit_fairseq.models.transformer import SymbolInvariantTransformer
from sit_fairseq.symbols.prefix import tree_fault
from sit_fairseq.symbols.vocabulary import Vocabulary
from sit_fairseq.tasks.stream_dictionary import StreamDictionary

SENTENCES, RANDOM_SENTENCES = 64, 256
_SCANNED = 100_000  # sentences of a split to look at
_BATCH = 64
# Rounding of float32, relative to the largest logit if that is above 1.
TOLERANCE = 1e-5


class Pair(NamedTuple):
    """Tokens without ``</s>``."""

    source: List[str]
    target: List[str]


@dataclass
class Comparison:
    """How far two models differ."""

    sentences: int = 0
    columns: int = 0  # tokens that both can produce
    difference: float = 0.0  # the largest of two logits
    largest: float = 0.0  # absolute logit
    loss: float = 0.0  # of the original, in nats summed over all target tokens
    tokens: int = 0  # of the targets

    @property
    def allowed(self) -> float:
        """The largest difference that rounding explains."""
        return TOLERANCE * max(1.0, self.largest)

    @property
    def equal(self) -> bool:
        return self.sentences > 0 and self.difference <= self.allowed

    def __str__(self) -> str:
        return (
            f"loss of the original: {self.loss / max(self.tokens, 1):.2f} nats per target token\n"
            f"logits of {self.columns} tokens: largest difference {self.difference:.1e} "
            f"(allowed {self.allowed:.1e})"
        )


def sentences(
    original: Original, dictionary: StreamDictionary, actual: str
) -> List[Tuple[List[Pair], str]]:
    """Sentences whose only symbol is ``actual``, and where they come from: the first split that has
    any, of valid, test and train; and base tokens at random with the symbol among them."""
    # What the original can read beside the symbol, and what it can write.
    known = [
        {token for token in side.symbols if token == actual or not dictionary.is_symbol(token)}
        for side in original.dictionaries[3:]
    ]
    random_ones = (_at_random(original, dictionary, actual), "random sentences of base tokens")
    for split in ("valid", "test", "train"):
        found = list(itertools.islice(_of_split(original, split, known, actual), SENTENCES))
        if found:
            return [(found, f"the {split} split of {original.dictionaries.data}"), random_ones]
    return [random_ones]


def _of_split(original: Original, split: str, known: List[Set[str]], actual: str) -> Iterator[Pair]:
    """The pairs of a split that hold known tokens alone and, in the source, the symbol."""
    data, *languages = original.dictionaries[:3]
    if not data or not all(
        lang and os.path.isfile(f"{data}/dict.{lang}.txt") for lang in languages
    ):
        return
    prefix = os.path.join(data, f"{split}.{'-'.join(languages)}")
    # Not those of a model that keeps its tokens in its checkpoint, in another order.
    words = [read_dictionary(data, lang) for lang in languages]
    sides = [
        data_utils.load_indexed_dataset(f"{prefix}.{lang}", d) for lang, d in zip(languages, words)
    ]
    if any(side is None for side in sides):
        return
    for index in range(min(_SCANNED, *map(len, sides))):
        numbers = [side[index].tolist() for side in sides]
        if any(max(found) >= len(d) for found, d in zip(numbers, words)):
            raise UserError(
                f"{prefix} holds tokens that the dictionaries beside it lack; run "
                "fairseq-preprocess again with the dictionaries of the checkpoint"
            )
        pair = Pair(*([d[i] for i in found[:-1]] for found, d in zip(numbers, words)))
        fits = all(len(found) <= limit for found, limit in zip(numbers, original.longest))
        if fits and actual in pair.source and all(map(set.issuperset, known, pair)):
            if not original.reads_formulas or tree_fault(pair.source, original.arity) is None:
                yield pair


def _at_random(original: Original, dictionary: StreamDictionary, actual: str) -> List[Pair]:
    rng = random.Random(1)
    sides, base = original.dictionaries[3:], dictionary.base_tokens()
    choices = [[token for token in base if token in side] + [actual] for side in sides]
    lengths = [max(1, min(20, limit - 1)) for limit in original.longest]
    drawn = []
    for _ in range(RANDOM_SENTENCES):
        source, target = (
            rng.choices(tokens, k=rng.randint(1, length))
            for tokens, length in zip(choices, lengths)
        )
        leaves = range(len(source))
        if original.reads_formulas:
            source = _random_formula(rng, choices[0], original.arity, lengths[0])
            leaves = [i for i, token in enumerate(source) if token not in original.arity]
        source[rng.choice(leaves)] = actual
        drawn.append(Pair(source, target))
    return drawn


def _random_formula(
    rng: random.Random, tokens: List[str], arity: Mapping[str, int], most: int
) -> List[str]:
    """A formula of some of these tokens, of which one is a leaf, and at most that many."""
    token = rng.choice([token for token in tokens if arity.get(token, 0) < most])
    operands = arity.get(token, 0)
    formula = [token]
    for _ in range(operands):
        formula += _random_formula(rng, tokens, arity, (most - 1) // operands)
    return formula


@torch.no_grad()
def compare(
    original: Original,
    converted: SymbolInvariantTransformer,
    pairs: List[Pair],
    actual: str,
    device: str = "cpu",
) -> Comparison:
    """Computes both models on sentences whose only symbol is ``actual``."""
    converted = converted.to(device).eval()
    reference = SlotSpaceTransformer(original, converted.vocabulary, actual).to(device).eval()
    dictionary = converted.vocabulary.dictionary
    comparison = Comparison(sentences=len(pairs))
    for first in range(0, len(pairs), _BATCH):
        sides = zip(*pairs[first : first + _BATCH])
        source, target = (dictionary.encode(list(map(" ".join, side))).to(device) for side in sides)
        real, slots = target.ne(dictionary.pad()), converted.read(source)[1]
        previous = F.pad(target, (1, -1), value=dictionary.eos())
        found = converted.decode(previous, converted.encode(source))[real]
        expected, target = reference(source, previous)[real], slots.encode(target)[real]
        possible = expected.isfinite()
        if not torch.equal(possible, found.isfinite()):
            comparison.difference = math.inf
            continue
        losses = F.cross_entropy(expected, target, reduction="none")
        comparison.loss += float(losses[losses.isfinite()].sum())
        comparison.tokens += int(losses.isfinite().sum())
        expected, found = expected[possible], found[possible]
        comparison.columns = int(possible[0].sum())
        comparison.largest = max(comparison.largest, float(expected.abs().max()))
        comparison.difference = max(comparison.difference, float((expected - found).abs().max()))
    return comparison


class SlotSpaceTransformer(nn.Module):
    """A trained model over the canonical ids of sentences whose only symbol is ``actual``.

    Its columns are the base tokens of ``vocabulary`` and that symbol: whatever else the model could
    produce is left out before probabilities are normalised, and so are base tokens that its target
    dictionary lacks.
    """

    def __init__(self, original: Original, vocabulary: Vocabulary, actual: str) -> None:
        super().__init__()
        self.model, self.vocabulary = original.model, vocabulary
        dictionaries = original.dictionaries
        for layer in self.model.encoder.layers:
            # The fast path of fairseq 0.12.2 ends with an error under newer torch.
            layer.can_use_fastpath = False
        source, target = (  # of each canonical id, <unk> where a dictionary lacks the token
            torch.tensor([side.index(t) for t in (*vocabulary.row_tokens, actual)], device="cpu")
            for side in (dictionaries.source, dictionaries.target)
        )
        self.register_buffer("source_indices", source)
        self.register_buffer("target_indices", target)
        lacking = target.eq(dictionaries.target.unk())
        lacking[dictionaries.target.unk()] = False  # which is its own row, too
        self.register_buffer("lacking", lacking)

    def forward(self, source: Tensor, previous: Tensor) -> Tensor:
        """(B, T, V_n + 1) logits, of (B, U) sources and (B, T) shifted targets."""
        canonical, slots = self.vocabulary.read(source)
        sources = self.source_indices[canonical]
        tokens = self.target_indices[slots.encode(previous)]
        if isinstance(self.model, SymbolInvariantTransformer):
            logits = self.model.decode(tokens, self.model.encode(sources))
        else:
            logits, _ = self.model.decoder(tokens, encoder_out=self.model.encoder(sources))
        return logits[..., self.target_indices].masked_fill(self.lacking, -torch.inf)
