"""Kinds of vocabularies and embeddings. Baselines have one stream per sentence, and one vector per
canonical id.

Shapes as in :mod:`sit_fairseq.symbols.slots`; J symbols in the dictionary.
"""

import logging
import random
from types import MappingProxyType
from typing import Any, Dict, List, Mapping, Optional, Tuple, Type

import torch
import torch.nn.functional as F
from torch import Tensor

from sit_fairseq.errors import UserError
from sit_fairseq.models.all_places import AllPlaces
from sit_fairseq.models.config import DecoderOptions, has_source
from sit_fairseq.models.embedding import TokenEmbedding, wide
from sit_fairseq.models.memory import Memory
from sit_fairseq.models.stacks import Decoder
from sit_fairseq.symbols.saved_tokens import buffer_text, text_buffer
from sit_fairseq.symbols.slots import Slots, numbered_in_sorts
from sit_fairseq.symbols.streams import Streams
from sit_fairseq.symbols.tokens import TokenTable, without_embedding
from sit_fairseq.symbols.vocabulary import Vocabulary

logger = logging.getLogger(__name__)


class OneStreamVocabulary(Vocabulary):
    """Sentences have one anonymous stream, and a canonical id is the number of a vector."""

    one_stream = True
    num_symbol_rows = 0


class FixedVocabulary(OneStreamVocabulary):
    """Every symbol has a row of its own, like any other token; checkpoints list it among
    ``base_tokens``. So no sentence has slots."""

    produces_any_symbol = named_rows = True

    def read(self, tokens: Tensor) -> Tuple[Tensor, Slots]:
        """The row of each token; a UserError if a symbol has none."""
        fault = self.unreadable(tokens)
        if fault is not None:
            raise UserError(f"a sentence {fault}")
        return super().read(tokens)

    def unreadable(self, tokens: Tensor) -> Optional[str]:
        """Names symbols without a row; see :meth:`Vocabulary.unreadable`."""
        unknown = tokens[self.rows(tokens) < 0].unique().tolist()
        names = without_embedding(self.dictionary[index] for index in unknown)
        return f"holds {names}" if unknown else None


class CanonicalVocabulary(OneStreamVocabulary):
    """The first symbol of a sentence has the first row after the base tokens, and so on.

    There are as many such rows as the dictionary has symbols when training starts, for each sort
    its own. A symbol beyond them reads as ``<unk>`` and cannot be produced.

    Attributes:
        rows_of_sorts: the number of symbols of each sort that a sentence may hold.
    """

    def __init__(self, dictionary: TokenTable, *options: Any) -> None:
        super().__init__(dictionary, *options)
        sorts = [dictionary.sort(token) for token in dictionary.known_symbols()]
        # Of fixed length, as a checkpoint may have other numbers.
        numbers = "".join(f"{sorts.count(sort):08d}" for sort in range(self.num_sorts))
        self.register_buffer("symbol_rows", text_buffer(numbers))
        self._set_numbers(self.symbol_rows)
        self._warned = False

    def _load_from_state_dict(self, state_dict, prefix, *args, **kwargs) -> None:
        """Takes over the numbers of a checkpoint, of as many sorts as it has."""
        saved = state_dict.get(prefix + "symbol_rows")
        if saved is not None:
            self.symbol_rows = self.symbol_rows.new_empty(saved.shape)
            self._set_numbers(saved)
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)

    def _set_numbers(self, saved: Tensor) -> None:
        """Keeps the numbers of a buffer on the CPU, where each batch asks for them."""
        text = buffer_text(saved)
        self.rows_of_sorts = [int(text[n : n + 8]) for n in range(0, len(text), 8)]

    def read(self, tokens: Tensor) -> Tuple[Tensor, Slots]:
        """See :meth:`Vocabulary.read`. There is a slot for each of the Q rows, named ``<unk>``
        where a sentence has no symbol for it."""
        rows = self.rows(tokens)
        slot = numbered_in_sorts(tokens, rows < 0, self.dictionary, self.rows_of_sorts)
        if not self._warned and bool(((rows < 0) & (slot < 0)).any()):
            self._warned = True
            logger.warning(
                "a sentence has more symbols of a sort than a model of canonical symbols was trained "
                "with (%s): further ones read as <unk> and cannot be produced",
                ", ".join(map(str, self.rows_of_sorts)),
            )
        return self.with_slots(tokens, rows, slot, self.num_symbol_rows, self.unk)

    @property
    def num_symbol_rows(self) -> int:
        """Q, the number of symbols that a sentence may hold."""
        return sum(self.rows_of_sorts)

    def same_columns(self, other: Vocabulary) -> bool:
        """Compares as for streams, and the number of rows for symbols."""
        return super().same_columns(other) and self.rows_of_sorts == other.rows_of_sorts


class NamedVocabulary(OneStreamVocabulary):
    """Slots are the symbols of the dictionary, for every sentence the same. The dictionary may gain
    symbols at any time, and the ids with it. ``most_symbols`` have a vector, None for any
    number."""

    most_symbols: Optional[int] = None
    produces_any_symbol = True

    def read(self, tokens: Tensor) -> Tuple[Tensor, Slots]:
        """Replaces every symbol by its place among the J symbols of the dictionary."""
        slots = Slots(self, self.known().to(tokens).expand(tokens.size(0), -1))
        return slots.encode(tokens), slots

    def unreadable(self, tokens: Tensor) -> Optional[str]:
        """Tells of more symbols than vectors; see :meth:`Vocabulary.unreadable`."""
        number = self.known().numel()
        if self.most_symbols is None or number <= self.most_symbols:
            return None
        return (
            f"brings the symbols of the dictionary and of the sentences before it to {number}, of "
            f"which the model tells {self.most_symbols} apart"
        )

    def known(self) -> Tensor:
        """(J,) the dictionary indices of all symbols."""
        tokens = torch.arange(len(self.dictionary), device=self.row_of_index.device)
        return tokens[self.rows(tokens) < 0]

    def _index(self, base_tokens: List[str]) -> None:
        super()._index(base_tokens)
        if self.num_sorts > 1:
            raise UserError(
                "random vectors tell no sorts of symbols apart; give one pattern without names",
                "symbols symbol_embedding",
            )


class TextVocabulary(Vocabulary):
    """The vocabulary of a language model: all symbols of a text have reserved slots."""

    def unreadable(self, tokens: Tensor) -> Optional[str]:
        """Tells of more symbols than slots, or fewer names; see :meth:`Vocabulary.unreadable`."""
        own, fresh = self.symbols_of(tokens), self.fresh
        sorts = [self.dictionary.sort(self.dictionary[index]) for index in own]
        for sort, most in enumerate(fresh.numbers):
            if sorts.count(sort) > most:
                name = self.dictionary.sorts[sort]
                kind = f"symbols of the sort {name}" if name else "symbols"
                return f"holds {sorts.count(sort)} {kind}, more than the {most} of the model"
        left = len(fresh.name([], own)) - len(own)
        if left + len(own) < fresh.number:
            return f"leaves names for {left} of {fresh.number - len(own)} more symbols"
        return None

    def most_streams(self, tokens: Tensor) -> int:
        """All that there may be, as a continuation may hold any symbols."""
        return 1 if self.one_stream else self.fresh_symbols + 1


class NumberedVocabulary(TextVocabulary, OneStreamVocabulary):
    """A symbol has the row of its number, of which there are R: by first use, or by last use."""

    @property
    def num_symbol_rows(self) -> int:
        """R."""
        return self.fresh_symbols


class OneStreamEmbedding(TokenEmbedding):
    """A learnt row for each canonical id.

    *Fixed* symbols have rows like base tokens: with a dictionary and training data that hold the
    symbols of the test it is the paper's full vocabulary baseline. *Canonical* symbols have a row
    for the first, second, ... of a sentence: the model is invariant under renaming, but bound to
    the number of symbols it was trained with.
    """

    @property
    def num_classes(self) -> int:
        """The C of AdaCos: one class for each vector."""
        return self.weight.size(0)

    def rows_of(self, layout: AllPlaces, number: int) -> Tensor:
        """Beams that are dead anyway hold ids without a vector."""
        unknown = layout.canonical >= number
        return layout.canonical.masked_fill(unknown, self.vocabulary.unk)

    def logits(self, hidden: Tensor, matrix: Tensor, streams: Streams) -> Tensor:
        """The product with each vector."""
        return hidden @ matrix.t()

    def _shape(self, embed_dim: int) -> Tuple[int, int]:
        return self.vocabulary.num_base + self.vocabulary.num_symbol_rows, embed_dim


class RandomEmbedding(OneStreamEmbedding):
    """Dual-part embeddings of symbols (Isik et al., ICML 2025, arXiv 2410.17161).

    A symbol's vector is a learnt part that all symbols share, and a code: a corner of the
    hypercube, different for each symbol. A base token's vector is learnt but for the channels of
    codes, where it is zero. Each part is L2-normalised, then the whole. In training all codes are
    drawn anew for each batch. In evaluation a code is a function of the symbol's name and a seed;
    only where two names get the same corner does the later one in the dictionary take another.

    Args:
        vocabulary: base tokens, and symbols by name.
        embed_dim: C.
        code_dim: channels of a code, which tell ``2 ** code_dim`` symbols apart.
        seed: decides the codes of evaluation.
        heads: see :class:`TokenEmbedding`.
    """

    def __init__(
        self, vocabulary: NamedVocabulary, embed_dim: int, code_dim: int, seed: int, **heads: bool
    ) -> None:
        self.code_dim, self.seed = code_dim, seed
        super().__init__(vocabulary, embed_dim, **heads)
        self._codes(seed)  # refuses too many symbols
        vocabulary.most_symbols = 2**code_dim

    @property
    def num_classes(self) -> int:
        """The C of AdaCos: base tokens and the symbols of the dictionary."""
        return self.vocabulary.num_base + self.vocabulary.known().numel()

    def _shape(self, embed_dim: int) -> Tuple[int, int]:
        return self.vocabulary.num_base + 1, embed_dim - self.code_dim

    def _matrix(self) -> Tensor:
        """One row per base token and per symbol that there is now."""
        codes = self._codes(
            int(torch.randint(2**62, (), device="cpu")) if self.training else self.seed
        )
        learnt = F.normalize(wide(self.weight), dim=1)
        codes = F.normalize(codes.to(learnt, non_blocking=True), dim=1)
        base = F.pad(learnt[:-1], (0, self.code_dim))
        symbols = torch.cat((learnt[-1:].expand(len(codes), -1), codes), dim=1)
        return F.normalize(torch.cat((base, symbols)), dim=1).to(self.weight.dtype)

    def _codes(self, seed: int) -> Tensor:
        names = [self.vocabulary.dictionary[index] for index in self.vocabulary.known().tolist()]
        return random_codes(names, self.code_dim, seed)


def random_codes(names: List[str], code_dim: int, seed: int) -> Tensor:
    """(J, D) of -1 and 1: a corner of the hypercube of ``code_dim`` channels for each of J
    different names, without repetition. Seed and name decide where a name's draws begin. A
    UserError if there are fewer than J corners."""
    if len(names) > 2**code_dim:
        raise UserError(
            f"codes of {code_dim} channels tell {2**code_dim} symbols apart, but there are "
            f"{len(names)}, which {(len(names) - 1).bit_length()} do",
            "symbol_code_dim",
        )
    corners: Dict[int, None] = {}
    for name in names:
        draws = random.Random(f"{seed} {name}")
        corner = draws.getrandbits(code_dim)
        while corner in corners:
            corner = draws.getrandbits(code_dim)
        corners[corner] = None
    bits = [[1.0 if corner >> bit & 1 else -1.0 for bit in range(code_dim)] for corner in corners]
    return torch.tensor(bits, device="cpu").view(len(names), code_dim)


class RecencyDecoder(Decoder):
    """:class:`Decoder` that calls a symbol by how many others of its sort were used since its last use.
    A symbol that was never used comes after all that were."""

    def forward(self, canonical: Tensor, memory: Memory) -> Tensor:
        """See :class:`Decoder`."""
        vocabulary = self.embed_tokens.vocabulary
        codes, numbers = by_last_use(canonical, vocabulary)
        logits = super().forward(codes, memory)
        base, symbols = logits.split([vocabulary.num_base, vocabulary.fresh.number], 2)
        return torch.cat((base, symbols.gather(2, numbers[:, -logits.size(1) :])), 2)


def by_last_use(canonical: Tensor, vocabulary: Vocabulary) -> Tuple[Tensor, Tensor]:
    """Numbers symbols of (B, T) canonical ids by last use: (B, T) codes, V_n and the number of each
    symbol before it stands there; and (B, T, R) the number of each slot after each token."""
    slot, fresh = canonical - vocabulary.num_base, vocabulary.fresh
    slots = torch.arange(fresh.number, device=canonical.device)
    place = torch.arange(1, canonical.size(1) + 1, device=canonical.device).unsqueeze(1)
    used = torch.where(slot.unsqueeze(2) == slots, place, -slots).cummax(1).values
    used = torch.cat(((-slots).expand(len(used), 1, -1), used), 1)
    numbers = torch.cat(
        [
            offset + of_sort.argsort(2, descending=True).argsort(2)
            for offset, of_sort in zip(fresh.offsets, used.split(fresh.numbers, 2))
        ],
        2,
    )
    known = slot.clamp(0, fresh.number - 1).unsqueeze(2)
    codes = vocabulary.num_base + numbers[:, :-1].gather(2, known).squeeze(2)
    return torch.where((slot >= 0) & (slot < fresh.number), codes, canonical), numbers[:, 1:]


# By symbol_embedding: the vocabulary of a model with a source, that of texts, and the embedding.
KINDS: Dict[str, Tuple[Type[Vocabulary], Type[Vocabulary], Type[TokenEmbedding]]] = {
    "streams": (Vocabulary, TextVocabulary, TokenEmbedding),
    "fixed": (FixedVocabulary, FixedVocabulary, OneStreamEmbedding),
    "canonical": (CanonicalVocabulary, NumberedVocabulary, OneStreamEmbedding),
    "random": (NamedVocabulary, NamedVocabulary, RandomEmbedding),
    "recency": (NumberedVocabulary, NumberedVocabulary, OneStreamEmbedding),
}


def make_vocabulary(
    cfg: DecoderOptions,
    dictionary: TokenTable,
    arity: Mapping[str, int] = MappingProxyType({}),
    fresh_names: Optional[str] = None,
) -> Vocabulary:
    """The vocabulary of a model; see :class:`Vocabulary`."""
    kind = cfg.symbol_embedding
    vocabulary = KINDS[kind][0 if has_source(cfg) else 1]
    return vocabulary(dictionary, 0 if kind == "fixed" else cfg.fresh_symbols, fresh_names, arity)


def make_embedding(
    cfg: DecoderOptions, vocabulary: Vocabulary, embed_dim: int, seed: int = 1
) -> TokenEmbedding:
    """The embedding of a model; ``seed`` decides the codes of random symbols in evaluation."""
    cosine, kind = cfg.output_head == "cosine", cfg.symbol_embedding
    scaled = cfg.scale_cosine_embedding if cosine else not cfg.no_scale_embedding
    codes = dict(code_dim=cfg.symbol_code_dim, seed=seed) if kind == "random" else {}
    return KINDS[kind][2](vocabulary, embed_dim, cosine=cosine, scaled=scaled, **codes)
