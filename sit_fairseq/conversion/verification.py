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
from types import SimpleNamespace
from typing import Any, Dict, Iterator, List, NamedTuple, Set, Tuple

import torch
import torch.nn.functional as F
from fairseq import utils
from fairseq.checkpoint_utils import load_model_ensemble_and_task
from fairseq.data import data_utils
from fairseq.data.language_pair_dataset import collate
from omegaconf import DictConfig
from torch import Tensor, nn

from sit_fairseq.conversion.original import Original, read_dictionary
from sit_fairseq.domains.by_name import arity_of
from sit_fairseq.errors import UserError
from sit_fairseq.models.fairseq_adapter import SymbolInvariantTransformerModel
from sit_fairseq.models.transformer import SymbolInvariantTransformer
from sit_fairseq.search.fairseq_generator import StreamSequenceGenerator
from sit_fairseq.symbols.prefix import tree_fault
from sit_fairseq.symbols.slots import Slots
from sit_fairseq.symbols.vocabulary import Vocabulary
from sit_fairseq.tasks.stream_dictionary import StreamDictionary
from sit_fairseq.tasks.stream_translation import StreamTranslationTask

SENTENCES, RANDOM_SENTENCES = 64, 256
_SCANNED = 100_000  # sentences of a split to look at
_BATCH = 64
BEAM = 5
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
    answers: int = 0  # equal best ones of beam search
    ties: int = 0  # best answers that differ, but score the same

    @property
    def allowed(self) -> float:
        """The largest difference that rounding explains."""
        return TOLERANCE * max(1.0, self.largest)

    @property
    def equal(self) -> bool:
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
    """Sentences whose only symbol is ``actual``, and where they come from: the first split that has
    any, of valid, test and train; and base tokens at random with the symbol among them."""
    # What the original can read beside the symbol, and what it can write.
    known = [
        {token for token in side.symbols if token == actual or not dictionary.is_symbol(token)}
        for side in (original.dictionaries.source, original.dictionaries.target)
    ]
    random_ones = (_at_random(original, dictionary, actual), "random sentences of base tokens")
    for split in ("valid", "test", "train"):
        found = list(itertools.islice(_of_split(original, split, known, actual), SENTENCES))
        if found:
            return [(found, f"the {split} split of {original.dictionaries.data}"), random_ones]
    return [random_ones]


def _limits(original: Original) -> List[int]:
    return [original.model_options[f"max_{side}_positions"] for side in ("source", "target")]


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
        fits = all(len(found) <= limit for found, limit in zip(numbers, _limits(original)))
        if fits and actual in pair.source and all(map(set.issuperset, known, pair)):
            if not _reads_formulas(original) or tree_fault(pair.source, arity_of()) is None:
                yield pair


def _reads_formulas(original: Original) -> bool:
    return original.model_options["encoder_positions"] == "tree"


def _at_random(original: Original, dictionary: StreamDictionary, actual: str) -> List[Pair]:
    rng = random.Random(1)
    sides = (original.dictionaries.source, original.dictionaries.target)
    choices = [[t for t in dictionary.base_tokens() if t in side] + [actual] for side in sides]
    lengths = [max(1, min(20, limit - 1)) for limit in _limits(original)]
    drawn = []
    for _ in range(RANDOM_SENTENCES):
        source, target = (
            rng.choices(tokens, k=rng.randint(1, length))
            for tokens, length in zip(choices, lengths)
        )
        leaves = range(len(source))
        if _reads_formulas(original):
            source = _random_formula(rng, choices[0], lengths[0])
            leaves = [i for i, token in enumerate(source) if token not in arity_of()]
        source[rng.choice(leaves)] = actual
        drawn.append(Pair(source, target))
    return drawn


def _random_formula(rng: random.Random, tokens: List[str], most: int) -> List[str]:
    """A formula of some of these tokens, of which one is a leaf, and at most that many."""
    token = rng.choice([token for token in tokens if arity_of().get(token, 0) < most])
    operands = arity_of().get(token, 0)
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
    """Computes both models on sentences whose only symbol is ``actual``."""
    converted = converted.to(device).eval()
    reference = SlotSpaceTransformer(original, converted.vocabulary, actual).to(device).eval()
    dictionary = converted.vocabulary.dictionary
    comparison = Comparison(sentences=len(pairs))
    for first in range(0, len(pairs), _BATCH):
        sample = _sample(dictionary, pairs[first : first + _BATCH], device)
        slots = converted.read(sample["net_input"]["src_tokens"])[1]
        real = sample["target"].ne(dictionary.pad())
        target = slots.encode(sample["target"])[real]
        models = (reference, converted)
        expected, found = (model(**sample["net_input"])[0][real] for model in models)
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
        answers = [_generator(model, dictionary).generate([model], sample) for model in models]
        for (one, *_), (other, *_) in zip(*answers):
            if torch.equal(one["tokens"], other["tokens"]):
                comparison.answers += 1
            elif abs(float(one["score"] - other["score"])) <= comparison.allowed:
                comparison.ties += 1
    return comparison


def _generator(model, dictionary: StreamDictionary) -> StreamSequenceGenerator:
    return StreamSequenceGenerator([model], dictionary, beam_size=BEAM, max_len_a=1, max_len_b=10)


def _sample(dictionary: StreamDictionary, pairs: List[Pair], device: str) -> Dict[str, Any]:
    eos, samples = dictionary.eos(), []
    for number, pair in enumerate(pairs):
        source, target = (
            torch.tensor([*map(dictionary.index, side), eos], device="cpu") for side in pair
        )
        samples.append({"id": number, "source": source, "target": target})
    batch = collate(samples, dictionary.pad(), eos, left_pad_source=False)
    return utils.apply_to_sample(lambda tensor: tensor.to(device), batch)


class _Cache(dict):
    """The incremental state of fairseq's decoder, with the encoder's output."""

    def __init__(self, model: nn.Module, states: Any) -> None:
        super().__init__()
        self._model, self.states = model, states

    def reorder(self, order: Tensor) -> None:
        order = order.to(next(self._model.parameters()).device)
        self.states = self._model.encoder.reorder_encoder_out(self.states, order)
        self._model.decoder.reorder_incremental_state_scripting(self, order)


class SlotSpaceTransformer(nn.Module):
    """A trained model over the canonical ids of sentences whose only symbol is ``actual``.

    Its columns are the base tokens of ``vocabulary`` and that symbol: whatever else the model could
    produce is left out before probabilities are normalised, and so are base tokens that its target
    dictionary lacks. It has the methods of :class:`SymbolInvariantTransformer`.
    """

    def __init__(self, original: Original, vocabulary: Vocabulary, actual: str) -> None:
        super().__init__()
        model, dictionaries = original.model, original.dictionaries
        for layer in getattr(model.encoder, "layers", ()):
            # The fast path of fairseq 0.12.2 ends with an error under newer torch.
            layer.can_use_fastpath = False
        self.model = model
        self.vocabulary = vocabulary
        self._is_baseline = isinstance(model, SymbolInvariantTransformer)
        tokens = [vocabulary.dictionary[index] for index in vocabulary.index_of_row.tolist()]
        source, target = (  # of each canonical id, <unk> where a dictionary lacks the token
            torch.tensor([side.index(token) for token in (*tokens, actual)], device="cpu")
            for side in (dictionaries.source, dictionaries.target)
        )
        self.register_buffer("source_indices", source)
        self.register_buffer("target_indices", target)
        lacking = target.eq(dictionaries.target.unk())
        lacking[dictionaries.target.unk()] = False  # which is its own row, too
        self.register_buffer("lacking", lacking)

    def forward(self, src_tokens: Tensor, src_lengths: Any, prev_output_tokens: Tensor, **unused):
        source = self.encode(src_tokens)
        tokens = self._tokens(source.slots.encode(prev_output_tokens))
        if self._is_baseline:
            logits = self.model.decode(tokens, source.states)
        else:
            logits, _ = self.model.decoder(tokens, encoder_out=source.states)
        return self._columns(logits), {}

    def read(self, tokens: Tensor) -> Tuple[Tensor, Slots]:
        return Slots.by_appearance(self.vocabulary, tokens)

    def encode(self, tokens: Tensor) -> SimpleNamespace:
        canonical, slots = self.read(tokens.to(self.source_indices.device))
        encode = self.model.encode if self._is_baseline else self.model.encoder
        states = encode(self.source_indices[canonical])
        return SimpleNamespace(slots=slots, canonical=canonical, states=states)

    def memory(self, source: SimpleNamespace) -> Any:
        if self._is_baseline:
            return self.model.memory(source.states)
        return _Cache(self.model, source.states)

    def step(self, canonical: Tensor, cache: Any) -> Tensor:
        tokens = self._tokens(canonical)
        if self._is_baseline:
            own = cache.context.hypothesis_slots.encode(tokens)
            return self._columns(self.model.step(own, cache))
        logits, _ = self.model.decoder(tokens, encoder_out=cache.states, incremental_state=cache)
        return self._columns(logits)

    def max_decoder_positions(self) -> int:
        return self.model.max_decoder_positions()

    def unreadable(self, tokens: Tensor) -> None:
        """None: it reads whatever its conversion reads."""

    def _tokens(self, canonical: Tensor) -> Tensor:
        # Beams that are dead anyway hold arbitrary ids.
        return self.target_indices[canonical.clamp(max=self.target_indices.numel() - 1)]

    def _columns(self, logits: Tensor) -> Tensor:
        return logits[..., self.target_indices].masked_fill(self.lacking, -torch.inf)
