"""Models of other kinds behind the interface of stream models, to compare them."""

from types import SimpleNamespace
from typing import Any, Tuple

import torch
from torch import Tensor, nn

from sit_fairseq.conversion.original import Original
from sit_fairseq.models.transformer import SymbolInvariantTransformer
from sit_fairseq.symbols.slots import Slots
from sit_fairseq.symbols.vocabulary import Vocabulary


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
            torch.tensor([side.index(token) for token in (*tokens, actual)])
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

    def new_cache(self, source: SimpleNamespace) -> Any:
        if self._is_baseline:
            return self.model.new_cache(source.states)
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
