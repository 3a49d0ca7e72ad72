"""A language model for which the names of symbols do not matter: a decoder without a source.

All symbols of a text are fresh (:mod:`sit_fairseq.symbols.fresh`): each takes the next reserved slot
where it first stands. So no token depends on later ones, nor on what symbols are called.

Shapes: B texts, K hypotheses of each, T tokens, R reserved slots, V_n base tokens.
"""

from dataclasses import dataclass
from typing import Any, Optional

import torch
from torch import Tensor

from sit_fairseq.models.baselines import FixedVocabulary, OneStreamVocabulary, make_embedding
from sit_fairseq.models.config import (
    DecoderOptions,
    StackConfig,
    check_decoder,
    check_one_stream,
    option,
    refuse,
)
from sit_fairseq.models.context import Context
from sit_fairseq.models.recency import RecencyDecoder
from sit_fairseq.models.stacks import Decoder
from sit_fairseq.models.transformer import SlotSpaceModel
from sit_fairseq.symbols.fresh import fresh_numbers
from sit_fairseq.symbols.slots import Slots
from sit_fairseq.symbols.tokens import TokenTable
from sit_fairseq.symbols.vocabulary import Vocabulary


@dataclass
class LanguageModelConfig(DecoderOptions):
    """Options of a language model."""

    symbol_embedding: str = option(
        "streams",
        "vectors of symbols: streams, one for each symbol; or, in baselines with one stream: fixed, "
        "a row for each name; canonical, a row for the first, second, ... symbol of a text; recency, "
        "a row for the symbol used last, last but one, ...",
    )
    fresh_symbols: Any = option(
        16, "most symbols of a text; of named sorts: variable=12,function=4; fixed has no limit"
    )
    stream_attention: str = option(
        "DP-DA", "attentions of the decoder in the paper's letters: DP, DP-DA, or DA"
    )
    decoder_embed_dim: int = option(96, "channels of the decoder and its embedding")
    decoder_ffn_embed_dim: int = option(768, "hidden channels of feed-forward networks")
    decoder_layers: int = option(6, "layers")
    decoder_attention_heads: int = option(6, "attention heads")
    max_target_positions: int = option(1024, "most tokens of a text")


class TextVocabulary(Vocabulary):
    """The vocabulary of texts, whose symbols have reserved slots."""

    def unreadable(self, tokens: Tensor) -> Optional[str]:
        """Tells of more symbols than slots, or fewer names; see :meth:`Vocabulary.unreadable`."""
        own, fresh = self.symbols_of(tokens), self.fresh
        sorts = [self.dictionary.sort(self.dictionary[index]) for index in own]
        for sort, most in enumerate(fresh.numbers):
            if sorts.count(sort) > most:
                name = self.dictionary.sorts[sort]
                kind = f"symbols of the sort {name}" if name else "symbols"
                return f"holds {sorts.count(sort)} {kind}, more than the {most} of the model"
        named = len(fresh.name([], own))
        if named < fresh.number:
            return f"leaves {named - len(own)} names for {fresh.number - len(own)} further symbols"
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


# By the choices of symbol_embedding.
VOCABULARIES = {
    "streams": TextVocabulary,
    "fixed": FixedVocabulary,
    "canonical": NumberedVocabulary,
    "recency": NumberedVocabulary,
}


def check(cfg: LanguageModelConfig) -> None:
    """Refuses values that are unknown or contradict each other.

    Raises:
        UserError: naming the option to change.
    """
    check_decoder(cfg, {"symbol_embedding": tuple(VOCABULARIES)})
    side = StackConfig.of(cfg, "decoder")
    refuse(side.num_layers < 1, f"a decoder needs a layer, not {side.num_layers}", "decoder_layers")
    check_one_stream(cfg, side.pattern, "DP")
    number = sum(fresh_numbers(cfg.fresh_symbols).values())
    refuse(
        cfg.position_gaps > 0 and cfg.decoder_positions == "none",
        "gaps in positions need some that count tokens",
        "position_gaps decoder_positions",
    )
    refuse(
        number < 1 and cfg.symbol_embedding != "fixed",
        f"texts hold symbols, of which {number} are too few",
        "fresh_symbols",
    )


def make_vocabulary(
    cfg: LanguageModelConfig, dictionary: TokenTable, fresh_names: Optional[str] = None
) -> Vocabulary:
    """The vocabulary of a language model, see :class:`Vocabulary`."""
    kind, number = cfg.symbol_embedding, cfg.fresh_symbols
    number = 0 if kind == "fixed" else number
    return VOCABULARIES[kind](dictionary, fresh_symbols=number, fresh_names=fresh_names)


class SymbolInvariantLanguageModel(SlotSpaceModel):
    """A decoder over parallel embedding streams, in which every symbol is fresh.

    A renaming of the symbols of a text changes no logit, and no token changes the logits before it.

    Args:
        cfg: the options.
        vocabulary: of :func:`make_vocabulary`.

    Raises:
        UserError: an option is unknown, or some contradict each other.
    """

    def __init__(self, cfg: LanguageModelConfig, vocabulary: Vocabulary) -> None:
        check(cfg)
        super().__init__(cfg)
        side = StackConfig.of(cfg, "decoder")
        kind = RecencyDecoder if cfg.symbol_embedding == "recency" else Decoder
        self.decoder = kind(make_embedding(cfg, vocabulary, side.embed_dim), side)

    @property
    def vocabulary(self) -> Vocabulary:
        """Base tokens and the pattern of symbols, with the maps to canonical ids."""
        return self.decoder.embed_tokens.vocabulary

    @property
    def reader(self) -> Decoder:
        """The side that reads texts."""
        return self.decoder

    def unreadable(self, tokens: Tensor) -> Optional[str]:
        """The fault of a text that the model cannot read, else None: words that follow "the
        sentence". The text is (T,) dictionary indices, padded on either side."""
        dictionary, longest = self.vocabulary.dictionary, self.decoder.cfg.max_positions
        tokens = tokens[tokens.ne(dictionary.pad()) & tokens.ne(dictionary.eos())]
        if tokens.numel() >= longest:
            return (
                f"has {tokens.numel()} tokens, more than the {longest - 1} that the model continues"
            )
        return self.vocabulary.unreadable(tokens)

    def context(self, size: int) -> Context:
        """The context of ``size`` texts, of which nothing is known."""
        embedding = self.decoder.embed_tokens
        nameless = torch.empty(size, 0, dtype=torch.long, device="cpu")
        slots, table = Slots(self.vocabulary, nameless), embedding.table()
        device = embedding.weight.device
        return Context(slots.to(device), slots.streams().to(device), table, table)

    def encode(self, prompts: Tensor) -> Context:
        """The context of (B, T) prompts, which a search reads as beginnings of its answers."""
        return self.context(len(prompts))

    def read(self, tokens: Tensor) -> Tensor:
        """(B, T) dictionary indices of texts to canonical ids. Names end here."""
        slots = Slots(self.vocabulary, tokens.new_empty(len(tokens), 0))
        return slots.encode(tokens) if tokens.size(1) else tokens

    def forward(self, tokens: Tensor, places: Optional[Tensor] = None) -> Tensor:
        """Computes logits of the token after each one.

        Args:
            tokens: (B, T) dictionary indices of texts, each after ``</s>``, padded on the right.
            places: (B, T) their positions; None for 0, 1, ...

        Returns:
            (B, T, V_n + R) logits over canonical ids; ``-inf`` for symbols that are neither in the
            text so far nor the next new one.
        """
        context = self.context(len(tokens))
        device = context.slots.names.device
        places = None if places is None else places.to(device, non_blocking=True)
        memory = self.memory(context, places, keeps=False)
        return self.decoder(self.read(tokens.to(device)), memory)

    def targets(self, tokens: Tensor, targets: Tensor) -> Tensor:
        """The canonical ids of (B, T) targets, the dictionary indices after each of (B, T) tokens;
        ``<pad>``, which no loss counts, also where a token cannot be produced."""
        canonical = self.read(torch.cat((tokens[:, :1], targets), 1))[:, 1:]
        impossible = self.vocabulary.unproducible(canonical)
        return canonical.masked_fill(impossible, self.vocabulary.dictionary.pad())
