"""Models of other kinds behind the interface of stream models, to compare them."""

from dataclasses import dataclass, replace
from typing import Any

import torch
from fairseq.data import Dictionary
from fairseq.models import FairseqEncoderDecoderModel
from torch import Tensor, nn

from sit_fairseq.conversion.reading import Dictionaries
from sit_fairseq.symbols.vocabulary import Vocabulary


class SlotSpaceTransformer(nn.Module):
    """A trained model of fairseq over the canonical ids of sentences whose only symbol is ``actual``.

    Its columns are the base tokens and that one symbol: whatever else the model could
    produce is left out before probabilities are normalised, and so are base tokens that
    its target dictionary lacks.

    Args:
        model: reads and scores tokens by their index in its dictionaries.
        dictionaries: these.
        vocabulary: gives the canonical ids.
        actual: the symbol.
    """

    def __init__(
        self,
        model: FairseqEncoderDecoderModel,
        dictionaries: Dictionaries,
        vocabulary: Vocabulary,
        actual: str,
    ) -> None:
        super().__init__()
        for layer in getattr(model.encoder, "layers", ()):
            # The fast path of fairseq 0.12.2 ends with an error under newer torch.
            layer.can_use_fastpath = False
        self.model = model
        self.vocabulary = vocabulary
        sides = (dictionaries.source, dictionaries.target)
        source, target = (_indices(side, vocabulary, actual) for side in sides)
        self.register_buffer("source_indices", source)
        self.register_buffer("target_indices", target)
        lacking = target.eq(dictionaries.target.unk())
        lacking[dictionaries.target.unk()] = False  # which is its own row, too
        self.register_buffer("lacking", lacking)

    def forward(self, src_tokens: Tensor, src_lengths: Any, prev_output_tokens: Tensor, **unused):
        """As the stream model's; see :meth:`SymbolInvariantTransformerModel.forward`."""
        names = self.vocabulary.canonicalise(src_tokens)[1]
        canonical = self.vocabulary.encode(prev_output_tokens, names)
        return self._logits(canonical, self.encode(src_tokens)), {}

    def encode(self, tokens: Tensor) -> "_Encoded":
        """Encodes sources, as :meth:`SymbolInvariantTransformer.encode`."""
        canonical, names = self.vocabulary.canonicalise(tokens.to(self.source_indices.device))
        tokens = self.source_indices[canonical]
        ours = hasattr(self.model, "encode")  # a baseline of this package
        return _Encoded(
            self.model, names, (self.model.encode if ours else self.model.encoder)(tokens)
        )

    def new_cache(self, source: "_Encoded") -> "_Cache":
        """See :meth:`SymbolInvariantTransformer.new_cache`."""
        return _Cache(self.model, source)

    def step(self, canonical: Tensor, source: "_Encoded", cache: "_Cache") -> Tensor:
        """See :meth:`SymbolInvariantTransformer.step`."""
        return self._logits(canonical, source, cache)

    def max_decoder_positions(self) -> int:
        """The longest target in tokens."""
        return self.model.max_decoder_positions()

    def _logits(self, canonical: Tensor, source: "_Encoded", cache: Any = None) -> Tensor:
        # Beams that are dead anyway hold arbitrary ids.
        tokens = self.target_indices[canonical.clamp(max=self.target_indices.numel() - 1)]
        if not hasattr(self.model, "encode"):
            state = None if cache is None else cache.state
            logits, _ = self.model.decoder(
                tokens, encoder_out=source.states, incremental_state=state
            )
        elif cache is None:
            logits = self.model.decode(tokens, source.states)
        else:
            own = self.model.vocabulary.encode(tokens, source.states.hypothesis_names)
            logits = self.model.step(own, source.states, cache.state)
        return logits[..., self.target_indices].masked_fill(self.lacking, -torch.inf)


@dataclass(frozen=True)
class _Encoded:
    """Encoded sources of either kind of model."""

    model: nn.Module
    names: Tensor  # of the sources at the beginning of a search
    states: Any

    def reorder(self, order: Tensor) -> "_Encoded":
        if hasattr(self.states, "reorder"):
            return replace(self, states=self.states.reorder(order))
        order = order.to(next(self.model.parameters()).device)
        states = self.model.encoder.reorder_encoder_out(self.states, order)
        return replace(self, states=states)


class _Cache:
    """What steps of either kind of model remember."""

    def __init__(self, model: nn.Module, source: _Encoded) -> None:
        self._model = model
        self.state = model.new_cache(source.states) if hasattr(model, "encode") else {}

    def reorder(self, order: Tensor) -> None:
        if hasattr(self.state, "reorder"):
            self.state.reorder(order)
        else:
            order = order.to(next(self._model.parameters()).device)
            self._model.decoder.reorder_incremental_state_scripting(self.state, order)


def _indices(dictionary: Dictionary, vocabulary: Vocabulary, actual: str) -> Tensor:
    """The index of each canonical id, ``<unk>`` where the dictionary lacks the token."""
    tokens = [vocabulary.dictionary[index] for index in vocabulary.index_of_row.tolist()]
    return torch.tensor([dictionary.index(token) for token in (*tokens, actual)])
