"""Models of other kinds behind the interface of stream models, to compare them."""

from dataclasses import dataclass, replace
from typing import Any

import torch
from fairseq.data import Dictionary
from torch import Tensor, nn

from sit_fairseq.conversion.original import Original
from sit_fairseq.models.transformer import SymbolInvariantTransformer
from sit_fairseq.symbols.vocabulary import Vocabulary


@dataclass(frozen=True)
class _Encoded:
    """Sources that were encoded by a model of either kind."""

    model: nn.Module
    names: Tensor  # of the sources at the beginning of a search
    states: Any

    def reorder(self, order: Tensor) -> "_Encoded":
        if hasattr(self.states, "reorder"):
            return replace(self, states=self.states.reorder(order))
        order = order.to(next(self.model.parameters()).device)
        return replace(self, states=self.model.encoder.reorder_encoder_out(self.states, order))


class _Cache(dict):
    """The incremental state of fairseq's decoder."""

    def __init__(self, decoder: nn.Module) -> None:
        super().__init__()
        self._decoder = decoder

    def reorder(self, order: Tensor) -> None:
        order = order.to(next(self._decoder.parameters()).device)
        self._decoder.reorder_incremental_state_scripting(self, order)


class SlotSpaceTransformer(nn.Module):
    """A trained model over the canonical ids of sentences whose only symbol is ``actual``.

    Its columns are the base tokens and that symbol: whatever else the model could produce is left
    out before probabilities are normalised, and so are base tokens that its target dictionary
    lacks. It has the methods of :class:`SymbolInvariantTransformer`.

    Args:
        original: fairseq's transformer, or a baseline of this package.
        vocabulary: gives the canonical ids.
        actual: the symbol.
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
        sides = (dictionaries.source, dictionaries.target)
        source, target = (_indices(side, vocabulary, actual) for side in sides)
        self.register_buffer("source_indices", source)
        self.register_buffer("target_indices", target)
        lacking = target.eq(dictionaries.target.unk())
        lacking[dictionaries.target.unk()] = False  # which is its own row, too
        self.register_buffer("lacking", lacking)

    def forward(self, src_tokens: Tensor, src_lengths: Any, prev_output_tokens: Tensor, **unused):
        names = self.vocabulary.canonicalise(src_tokens)[1]
        canonical = self.vocabulary.encode(prev_output_tokens, names)
        return self._logits(canonical, self.encode(src_tokens).states, None), {}

    def encode(self, tokens: Tensor) -> _Encoded:
        canonical, names = self.vocabulary.canonicalise(tokens.to(self.source_indices.device))
        encode = self.model.encode if self._is_baseline else self.model.encoder
        return _Encoded(self.model, names, encode(self.source_indices[canonical]))

    def new_cache(self, source: _Encoded) -> Any:
        if self._is_baseline:
            return self.model.new_cache(source.states)
        return _Cache(self.model.decoder)

    def step(self, canonical: Tensor, source: _Encoded, cache: Any) -> Tensor:
        return self._logits(canonical, source.states, cache)

    def max_decoder_positions(self) -> int:
        return self.model.max_decoder_positions()

    def unreadable(self, tokens: Tensor) -> None:
        """Nothing keeps it from reading a sentence that its conversion reads."""

    def _logits(self, canonical: Tensor, states: Any, cache: Any) -> Tensor:
        # Beams that are dead anyway hold arbitrary ids.
        tokens = self.target_indices[canonical.clamp(max=self.target_indices.numel() - 1)]
        if not self._is_baseline:
            logits, _ = self.model.decoder(tokens, encoder_out=states, incremental_state=cache)
        elif cache is None:
            logits = self.model.decode(tokens, states)
        else:
            own = self.model.vocabulary.encode(tokens, states.hypothesis_names)
            logits = self.model.step(own, states, cache)
        return logits[..., self.target_indices].masked_fill(self.lacking, -torch.inf)


def _indices(dictionary: Dictionary, vocabulary: Vocabulary, actual: str) -> Tensor:
    """The index of each canonical id, ``<unk>`` where the dictionary lacks the token."""
    tokens = [vocabulary.dictionary[index] for index in vocabulary.index_of_row.tolist()]
    return torch.tensor([dictionary.index(token) for token in (*tokens, actual)])
