"""Models of other kinds behind the interface of stream models, to compare them."""

from typing import Any

import torch
from fairseq.data import Dictionary
from fairseq.models import FairseqEncoder, FairseqEncoderDecoderModel, FairseqIncrementalDecoder
from torch import Tensor

from sit_fairseq.conversion.reading import Dictionaries
from sit_fairseq.symbols.stream_vocabulary import StreamVocabulary
from sit_fairseq.transfers import upload


class SlotSpaceTransformer(FairseqEncoderDecoderModel):
    """A trained model over the canonical ids of sentences whose only symbol is ``actual``.

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
        vocabulary: StreamVocabulary,
        actual: str,
    ) -> None:
        super().__init__(
            _SlotSpaceEncoder(model.encoder, dictionaries.source, vocabulary, actual),
            _SlotSpaceDecoder(model.decoder, dictionaries.target, vocabulary, actual),
        )
        self.vocabulary = vocabulary

    def forward(self, src_tokens: Tensor, src_lengths: Any, prev_output_tokens: Tensor, **unused):
        """As the stream model's; see :meth:`SymbolInvariantTransformerModel.forward`."""
        names = self.vocabulary.canonicalise(src_tokens)[1]
        canonical = self.vocabulary.encode(prev_output_tokens, names)
        return self.decoder(canonical, encoder_out=self.encoder(src_tokens))


def _indices(dictionary: Dictionary, vocabulary: StreamVocabulary, actual: str) -> Tensor:
    """The index of each canonical id, ``<unk>`` where the dictionary lacks the token."""
    tokens = [vocabulary.dictionary[index] for index in vocabulary.index_of_row.tolist()]
    return torch.tensor([dictionary.index(token) for token in (*tokens, actual)])


class _SlotSpaceEncoder(FairseqEncoder):
    def __init__(self, encoder, dictionary, vocabulary: StreamVocabulary, actual: str) -> None:
        super().__init__(vocabulary.dictionary)
        for layer in getattr(encoder, "layers", ()):
            layer.can_use_fastpath = (
                False  # of fairseq 0.12.2, which newer torch ends with an error
            )
        self.encoder = encoder
        self.vocabulary = vocabulary
        self.register_buffer("indices", _indices(dictionary, vocabulary, actual))

    def forward(self, src_tokens: Tensor, src_lengths: Any = None, **unused):
        canonical = self.vocabulary.canonicalise(src_tokens)[0]
        return self.encoder(self.indices[upload(canonical, self.indices.device)])

    def reorder_encoder_out(self, encoder_out, new_order: Tensor):
        new_order = upload(new_order, self.indices.device)
        return self.encoder.reorder_encoder_out(encoder_out, new_order)


class _SlotSpaceDecoder(FairseqIncrementalDecoder):
    def __init__(self, decoder, dictionary, vocabulary: StreamVocabulary, actual: str) -> None:
        super().__init__(vocabulary.dictionary)
        self.decoder = decoder
        self.register_buffer("indices", _indices(dictionary, vocabulary, actual))
        lacking = self.indices.eq(dictionary.unk())
        lacking[dictionary.unk()] = False  # which is its own row, too
        self.register_buffer("lacking", lacking)

    def forward(self, prev_output_tokens: Tensor, encoder_out=None, incremental_state=None, **_):
        # Beams that are dead anyway hold arbitrary ids.
        tokens = self.indices[prev_output_tokens.clamp(max=self.indices.numel() - 1)]
        logits, _ = self.decoder(
            tokens, encoder_out=encoder_out, incremental_state=incremental_state
        )
        logits = logits[..., self.indices].masked_fill(self.lacking, -torch.inf)
        return logits, {"attn": [None]}

    def reorder_incremental_state_scripting(self, incremental_state, new_order: Tensor) -> None:
        new_order = upload(new_order, self.indices.device)
        self.decoder.reorder_incremental_state_scripting(incremental_state, new_order)

    def max_positions(self) -> int:
        return self.decoder.max_positions()
