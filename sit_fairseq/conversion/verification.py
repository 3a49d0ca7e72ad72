"""Does a converted model do what the original does?

On sentences whose only symbol is the one that lent its rows to *actual* there is one
stream, and it must be computed as the original computes the sentence. The original is
restricted to what both can produce: base tokens and that symbol.
"""

import itertools
import math
import os
import random
from dataclasses import dataclass
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Set, Tuple

import torch
import torch.nn.functional as F
from fairseq.checkpoint_utils import load_model_ensemble_and_task
from fairseq.data import data_utils
from omegaconf import DictConfig

from sit_fairseq.conversion import reading
from sit_fairseq.conversion.original import Original
from sit_fairseq.errors import UserError
from sit_fairseq.logic.syntax import ARITY
from sit_fairseq.models.positions import tree_paths
from sit_fairseq.models.symbol_invariant_transformer import SymbolInvariantTransformerModel
from sit_fairseq.search.fairseq_generator import StreamSequenceGenerator
from sit_fairseq.tasks.stream_dictionary import StreamDictionary
from sit_fairseq.tasks.stream_translation import StreamTranslationTask

SENTENCES, RANDOM_SENTENCES = 64, 256
_SCANNED = 100_000  # sentences of a split to look at
_BATCH = 64
BEAM = 5
# Rounding of float32, relative to the largest logit if that is above 1.
TOLERANCE = 1e-5


class Pair(NamedTuple):
    """A source and a target, as tokens without ``</s>``."""

    source: List[str]
    target: List[str]


@dataclass
class Comparison:
    """How far two models differ.

    Attributes:
        sentences: how many were compared.
        columns: how many tokens both can produce.
        difference: the largest difference of two logits.
        largest: the largest absolute logit.
        loss: of the original, in nats summed over all target tokens.
        tokens: how many these are.
        answers: how many best answers of beam search are equal.
        ties: how many differ, but score the same.
    """

    sentences: int = 0
    columns: int = 0
    difference: float = 0.0
    largest: float = 0.0
    loss: float = 0.0
    tokens: int = 0
    answers: int = 0
    ties: int = 0

    @property
    def allowed(self) -> float:
        """What rounding explains."""
        return TOLERANCE * max(1.0, self.largest)

    @property
    def equal(self) -> bool:
        """Whether the two compute the same."""
        return (
            self.sentences > 0
            and self.difference <= self.allowed
            and self.answers + self.ties == self.sentences
        )

    def __str__(self) -> str:
        ties = f", {self.ties} more score the same" if self.ties else ""
        return (
            f"loss of the original: {self.loss / max(self.tokens, 1):.2f} nats per target token\n"
            f"logits of {self.columns} tokens: largest difference {self.difference:.1e} "
            f"(allowed {self.allowed:.1e})\n"
            f"beam search, width {BEAM}: {self.answers} of {self.sentences} best answers are "
            f"equal{ties}"
        )


def load(path: str, cfg: DictConfig) -> SymbolInvariantTransformerModel:
    """Loads a converted model as fairseq-generate does, knowing no token beforehand."""
    task = StreamTranslationTask.from_vocabulary(cfg.task)
    return load_model_ensemble_and_task([path], task=task)[0][0]


def sentences(
    original: Original, dictionary: StreamDictionary, actual: str
) -> List[Tuple[List[Pair], str]]:
    """Sentences whose only symbol is ``actual``.

    Args:
        original: the model to be converted.
        dictionary: tells symbols from base tokens.
        actual: the symbol.

    Returns:
        the sentences, and where they come from: those of the first split that has any, of valid,
        test and train, which may be few; and base tokens at random with ``actual`` among them.
    """
    random_ones = (_at_random(original, dictionary, actual), "random sentences of base tokens")
    for split in ("valid", "test", "train"):
        found = list(itertools.islice(_of_split(original, split, dictionary, actual), SENTENCES))
        if found:
            return [(found, f"the {split} split of {original.dictionaries.data}"), random_ones]
    return [random_ones]


def _limits(original: Original) -> List[int]:
    return [original.model_options[f"max_{side}_positions"] for side in ("source", "target")]


def _of_split(
    original: Original, split: str, dictionary: StreamDictionary, actual: str
) -> Iterator[Pair]:
    read = original.dictionaries
    languages = (read.source_lang, read.target_lang)
    if None in languages:
        return
    if not all(os.path.isfile(reading.dictionary_path(read.data, lang)) for lang in languages):
        return
    prefix = os.path.join(read.data, f"{split}.{'-'.join(languages)}")
    # Not those of a model that keeps its tokens in its checkpoint, in another order.
    words = [reading.read_dictionary(read.data, lang) for lang in languages]
    data = [
        data_utils.load_indexed_dataset(f"{prefix}.{lang}", d) for lang, d in zip(languages, words)
    ]
    if any(side is None for side in data):
        return
    # What each index is: 0 a base token, 1 the symbol looked for, 2 another or unknown.
    kinds = [
        torch.tensor([1 if t == actual else 2 * (t not in base) for t in d.symbols])
        for d, base in zip(words, _base_tokens(original, dictionary))
    ]
    for index in range(min(_SCANNED, *map(len, data))):
        tokens = [side[index].long() for side in data]
        if any(int(t.max()) >= len(d) for t, d in zip(tokens, words)):
            raise UserError(
                f"{prefix} holds tokens that the dictionaries beside it lack; run "
                "fairseq-preprocess again with the dictionaries of the checkpoint"
            )
        most = [int(kind[t].max()) for t, kind in zip(tokens, kinds)]
        fits = all(t.numel() <= limit for t, limit in zip(tokens, _limits(original)))
        if most[0] == 1 and most[1] < 2 and fits:
            pair = Pair(*([d[int(i)] for i in t[:-1]] for t, d in zip(tokens, words)))
            if _readable(original, pair.source):
                yield pair


def _base_tokens(original: Original, dictionary: StreamDictionary) -> List[Set[str]]:
    """What the original can read beside symbols, and what it can write."""
    sides = (original.dictionaries.source, original.dictionaries.target)
    return [{t for t in side.symbols if not dictionary.is_symbol(t)} for side in sides]


def _tree_depth(original: Original) -> Optional[int]:
    """The deepest formula that the original reads; None if it reads no formulas."""
    if original.model_options["encoder_positions"] != "tree":
        return None
    return original.model_options["tree_depth"] or original.model_options["encoder_embed_dim"] // 2


def _readable(original: Original, source: List[str]) -> bool:
    depth = _tree_depth(original)
    if depth is None:
        return True
    arity = torch.tensor([[ARITY.get(token, 0) for token in source]])
    try:
        return tree_paths(arity, torch.tensor([len(source)])).size(2) <= depth
    except ValueError:  # no formula
        return False


def _at_random(original: Original, dictionary: StreamDictionary, actual: str) -> List[Pair]:
    rng = random.Random(1)
    sides = (original.dictionaries.source, original.dictionaries.target)
    choices = [[t for t in dictionary.base_tokens() if t in side] + [actual] for side in sides]
    lengths = [max(1, min(20, limit - 1)) for limit in _limits(original)]
    depth = _tree_depth(original)
    drawn = []
    for _ in range(RANDOM_SENTENCES):
        source, target = (
            rng.choices(tokens, k=rng.randint(1, length))
            for tokens, length in zip(choices, lengths)
        )
        leaves = range(len(source))
        if depth is not None:
            # As deep as it has tokens at most, without the last one.
            source = _random_formula(rng, choices[0], min(lengths[0], depth + 1))
            leaves = [i for i, token in enumerate(source) if token not in ARITY]
        source[rng.choice(leaves)] = actual
        drawn.append(Pair(source, target))
    return drawn


def _random_formula(rng: random.Random, tokens: List[str], most: int) -> List[str]:
    """A formula of some of these tokens, of which one is a leaf, and at most that many."""
    token = rng.choice([token for token in tokens if ARITY.get(token, 0) < most])
    operands = ARITY.get(token, 0)
    formula = [token]
    for _ in range(operands):
        formula += _random_formula(rng, tokens, (most - 1) // operands)
    return formula


@torch.no_grad()
def compare(
    original: Original,
    converted: SymbolInvariantTransformerModel,
    pairs: List[Pair],
    actual: str,
    device: str = "cpu",
) -> Comparison:
    """Computes both models on the same sentences.

    Args:
        original: the model that was converted.
        converted: what it became.
        pairs: sentences whose only symbol is ``actual``.
        actual: the symbol.
        device: where to compute.
    """
    converted = converted.to(device).eval()
    reference = original.in_slot_space(converted.vocabulary, actual).to(device).eval()
    dictionary = converted.vocabulary.dictionary
    comparison = Comparison(sentences=len(pairs))
    for first in range(0, len(pairs), _BATCH):
        sample = _sample(dictionary, pairs[first : first + _BATCH], device)
        names = converted.vocabulary.canonicalise(sample["net_input"]["src_tokens"])[1]
        logits = [model(**sample["net_input"])[0] for model in (reference, converted)]
        real = sample["net_input"]["prev_output_tokens"].ne(dictionary.pad())
        possible = [x[real].isfinite() for x in logits]
        if not torch.equal(*possible):
            comparison.difference = math.inf
            continue
        target = converted.vocabulary.encode(sample["target"], names)[real]
        losses = F.cross_entropy(logits[0][real], target, reduction="none")
        comparison.loss += float(losses[losses.isfinite()].sum())
        comparison.tokens += int(losses.isfinite().sum())
        expected, found = (x[real][possible[0]] for x in logits)
        comparison.columns = int(possible[0][0].sum())
        comparison.largest = max(comparison.largest, float(expected.abs().max()))
        comparison.difference = max(comparison.difference, float((expected - found).abs().max()))
        best = [
            [
                hypotheses[0]
                for hypotheses in _generator(model, dictionary).generate([model], sample)
            ]
            for model in (reference, converted)
        ]
        for one, other in zip(*best):
            if torch.equal(one["tokens"], other["tokens"]):
                comparison.answers += 1
            elif abs(float(one["score"] - other["score"])) <= comparison.allowed:
                comparison.ties += 1
    return comparison


def _generator(model, dictionary: StreamDictionary) -> StreamSequenceGenerator:
    return StreamSequenceGenerator([model], dictionary, beam_size=BEAM, max_len_a=1, max_len_b=10)


def _sample(dictionary: StreamDictionary, pairs: List[Pair], device: str) -> Dict[str, Any]:
    """A batch as fairseq's data sets collate it."""
    sources, targets = (
        [torch.tensor([*map(dictionary.index, s), dictionary.eos()]) for s in side]
        for side in zip(*pairs)
    )
    pad, eos = dictionary.pad(), dictionary.eos()
    source = data_utils.collate_tokens(sources, pad).to(device)
    target = data_utils.collate_tokens(targets, pad).to(device)
    previous = data_utils.collate_tokens(targets, pad, eos, move_eos_to_beginning=True).to(device)
    lengths = source.ne(pad).sum(1)
    net_input = {"src_tokens": source, "src_lengths": lengths, "prev_output_tokens": previous}
    return {"net_input": net_input, "target": target}
