"""The decoder: canonical ids and encoder streams in, logits over canonical ids out."""

from typing import Any, Dict, Iterator, List, Optional, Tuple

import torch.nn.functional as F
from fairseq import utils
from fairseq.models import FairseqIncrementalDecoder
from torch import Tensor, nn

from sit_fairseq.models.stack_config import StackConfig
from sit_fairseq.models.stream_encoder import stream_mask
from sit_fairseq.modules.adacos_scale import AdaCosScale
from sit_fairseq.modules.functional import dropout
from sit_fairseq.modules.key_value_cache import KeyValueCache
from sit_fairseq.modules.stream_attention import KeysValues
from sit_fairseq.modules.stream_embedding import TiedEmbedding
from sit_fairseq.modules.stream_layers import StreamDecoderLayer
from sit_fairseq.symbols.fresh_slots import SlotVectors, close_slots, slots_taken
from sit_fairseq.symbols.streams import Repetition, Streams, SymbolPositions

CACHE = "streams"  # our key in fairseq's incremental state


class StreamDecoder(FairseqIncrementalDecoder):
    """Decodes in slot space: inputs and outputs are canonical ids, never names.

    Args:
        embed_tokens: the matrix of embeddings, which may be the encoder's.
        cfg: layers, positions and norms.
        output_projection: another matrix to project with; None for ``embed_tokens``.
    """

    def __init__(
        self,
        embed_tokens: TiedEmbedding,
        cfg: StackConfig,
        output_projection: Optional[TiedEmbedding] = None,
    ) -> None:
        super().__init__(embed_tokens.vocabulary.dictionary)
        self.embed_tokens = embed_tokens
        self.dropout = cfg.layer.dropout
        self.pattern = cfg.pattern
        self._layer_config = cfg.layer
        self.embed_positions = cfg.absolute_positions(self.dictionary.pad())
        self.layernorm_embedding = cfg.optional_norm(cfg.layernorm_embedding)
        self.layers = nn.ModuleList(
            StreamDecoderLayer(cfg.layer, cfg.pattern) for _ in range(cfg.num_layers)
        )
        self.layer_norm = cfg.optional_norm(cfg.final_norm)
        self.output_projection = output_projection
        self.output_scale = AdaCosScale(embed_tokens.num_classes) if embed_tokens.cosine else None
        self.positions = cfg.positions
        self._max_positions = cfg.max_positions

    def forward(
        self,
        prev_output_tokens: Tensor,
        encoder_out: Dict[str, List],
        incremental_state: Optional[Dict[str, Any]] = None,
        **unused: Any,
    ) -> Tuple[Tensor, Dict[str, Any]]:
        """Computes logits for all target positions, or for the last one.

        Args:
            prev_output_tokens: (B*K, T) canonical ids of the target so far. Ids without a
                stream (beams that are dead anyway hold such) read as placeholders.
            encoder_out: output of :class:`StreamEncoder`.
            incremental_state: fairseq's dictionary; if given, only the last position is
                computed and earlier keys and values are taken from it.

        Returns:
            logits (B*K, T or 1, V_n + S + R), scaled to be the arguments of a softmax, ``-inf``
            for reserved slots that are neither taken nor next, and a dictionary with
            ``names``, the dictionary index of each slot.
        """
        reserved = self.embed_tokens.vocabulary.fresh_symbols
        first, taken = self._taken(prev_output_tokens, encoder_out) if reserved else (None, None)
        cache: Optional[KeyValueCache] = None
        continued: Optional[Repetition] = None
        streams: Streams = encoder_out["streams"][0]
        tokens = prev_output_tokens
        if incremental_state is not None:
            tokens = tokens[:, -1:]
            if CACHE not in incremental_state:
                incremental_state[CACHE] = self._new_cache(encoder_out)
            cache = incremental_state[CACHE]
        if streams.reserved is not None:
            num_slots = self._slots_needed(taken, encoder_out)
            if cache is None:
                streams, continued = streams.with_own_streams(num_slots)
            else:
                cache.give_streams(num_slots)
                streams = cache.streams
        num_base = self.embed_tokens.vocabulary.num_base
        positions = SymbolPositions.of(tokens, num_base, streams)
        codes: Optional[Tensor] = encoder_out["codes"][0]
        vectors = self._slot_vectors(encoder_out)
        ids = tokens if vectors is None else vectors.ids(tokens)
        x = self.embed_tokens(ids, streams, codes)
        if self.embed_positions is not None:
            x = x + self._positions(prev_output_tokens, streams, incremental_state).to(x.dtype)
        if self.layernorm_embedding is not None:
            x = self.layernorm_embedding(x)
        x = dropout(x, self.dropout if self.training else 0.0)
        if cache is None:
            mask = stream_mask(encoder_out["encoder_padding_mask"][0], streams)
            for layer, views in zip(self.layers, self._project_encoder(encoder_out, continued)):
                x = layer(x, positions, views, mask)
        else:
            cache.advance()
            for number, layer in enumerate(self.layers):
                x = layer.step(x, positions, cache, number)
        if self.layer_norm is not None:
            x = self.layer_norm(x)
        logits = (self.output_projection or self.embed_tokens).project(x, streams, codes)
        if vectors is not None:
            logits = vectors.columns(logits)
        if self.output_scale is not None:
            logits = self.output_scale(logits)
        if reserved:
            logits = close_slots(logits, first, taken[:, -tokens.size(1) :], reserved)
        # fairseq's generator insists on an "attn" entry.
        return logits, {"attn": [None], "names": encoder_out["names"][0]}

    def _taken(self, tokens: Tensor, encoder_out: Dict[str, List]) -> Tuple[Tensor, Tensor]:
        """(B*K,) the canonical id of the first reserved slot, and (B*K, T) how many of these are
        taken up to each position."""
        vocabulary = self.embed_tokens.vocabulary
        first = vocabulary.first_reserved(encoder_out["names"][0])
        first = first.repeat_interleave(encoder_out["streams"][0].hypotheses)
        return first, slots_taken(tokens, first, vocabulary.fresh_symbols)

    def _slot_vectors(self, encoder_out: Dict[str, List]) -> Optional[SlotVectors]:
        """Those of the hypotheses, in baselines with fresh symbols."""
        vectors = encoder_out["vectors"][0]
        if vectors is None:
            return None
        vectors = vectors.repeat_interleave(encoder_out["streams"][0].hypotheses, dim=0)
        return SlotVectors(vectors, self.embed_tokens.vocabulary)

    @staticmethod
    def _slots_needed(taken: Tensor, encoder_out: Dict[str, List]) -> Tensor:
        """(B,) on the CPU, the slots that need streams of their own: reserved ones, if any
        hypothesis has taken them."""
        streams: Streams = encoder_out["streams"][0]
        of_sentence = taken[:, -1].view(-1, streams.hypotheses).amax(1)
        return (streams.on_host or streams).num_slots + of_sentence.cpu()

    def _positions(
        self, tokens: Tensor, streams: Streams, incremental_state: Optional[Dict[str, Any]]
    ) -> Tensor:
        """(N*K, T, C) what is added to the embeddings, or (1, 1, C) for the last token."""
        positions = self.embed_positions(tokens, incremental_state=incremental_state)
        if incremental_state is None:
            return streams.expand(positions)
        return positions[:1]  # the same for all: in a step fairseq counts columns

    def _project_encoder(
        self, encoder_out: Dict[str, List], continued: Optional[Repetition] = None
    ) -> Iterator[List[KeysValues]]:
        """Keys and values of the cross-attentions, layer by layer.

        Args:
            encoder_out: output of :class:`StreamEncoder`.
            continued: how the decoder's streams continue the encoder's; None if they are as
                many.
        """
        per_stream = encoder_out["encoder_out"][0]
        aggregated = None
        if "CA" in self.pattern.cross:
            encoder_streams = encoder_out["streams"][0].of_one_hypothesis()
            num_base = self.embed_tokens.vocabulary.num_base
            source = SymbolPositions.of(encoder_out["canonical"][0], num_base, encoder_streams)
            aggregated = source.aggregate(per_stream)
        for layer in self.layers:
            views = layer.project_encoder(per_stream, aggregated)
            if continued is not None:
                views = [
                    KeysValues(*map(continued, view)) if letters == "CP" else view
                    for letters, view in zip(self.pattern.cross, views)
                ]
            yield views

    def _new_cache(self, encoder_out: Dict[str, List]) -> KeyValueCache:
        return KeyValueCache(
            encoder_out["streams"][0],
            encoder_out["encoder_padding_mask"][0],
            self._project_encoder(encoder_out),
            self.pattern.cross,
            num_heads=self._layer_config.num_heads,
            embed_dim=self._layer_config.embed_dim,
        )

    def reorder_incremental_state_scripting(
        self, incremental_state: Dict[str, Any], new_order: Tensor
    ) -> None:
        """Follows fairseq's beams: each hypothesis takes all its streams along."""
        if CACHE in incremental_state:
            incremental_state[CACHE].reorder(new_order)

    def get_normalized_probs(
        self, net_output: Tuple[Tensor, Any], log_probs: bool, sample: Any = None
    ) -> Tensor:
        """(B*K, T, V_n + S + R) probabilities over canonical ids, float32."""
        softmax = utils.log_softmax if log_probs else utils.softmax
        logits = net_output[0]
        if logits.dtype.itemsize > 4:  # fairseq's softmax would round float64 to float32
            return F.log_softmax(logits, dim=-1) if log_probs else F.softmax(logits, dim=-1)
        return softmax(logits, dim=-1)

    def max_positions(self) -> int:
        """The longest target in tokens."""
        return self._max_positions
