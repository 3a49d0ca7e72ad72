"""Encoder and decoder: canonical ids in, hidden states or logits out.

Shapes as in :mod:`sit_fairseq.models.attention`.
"""

from dataclasses import replace
from typing import List, Optional, Sequence

from torch import Tensor, nn

from sit_fairseq.models.adacos_scale import AdaCosScale
from sit_fairseq.models.attention import KeysValues, Layout, Rotation, Seen
from sit_fairseq.models.config import StackConfig
from sit_fairseq.models.context import EncodedSource
from sit_fairseq.models.cpu_kernels import dropout
from sit_fairseq.models.embedding import StreamTable, TokenEmbedding
from sit_fairseq.models.layers import StreamLayer
from sit_fairseq.models.memory import Memory
from sit_fairseq.models.positions import make_positions


class Stack(nn.Module):
    """Embedding, layers and last norm.

    Args:
        embed_tokens: the matrix of embeddings, with the vocabulary.
        cfg: layers, positions and norms.
        side: ``"E"`` or ``"D"``.
        cross: its cross-attentions in their order, ``"CP"`` or ``"CA"``.
    """

    def __init__(
        self, embed_tokens: TokenEmbedding, cfg: StackConfig, side: str, cross: Sequence[str] = ()
    ) -> None:
        super().__init__()
        self.cfg = cfg
        self.embed_tokens = embed_tokens
        self.embed_positions = make_positions(cfg, embed_tokens.vocabulary)
        self.layernorm_embedding = cfg.norm(cfg.options.layernorm_embedding)
        self.layers = nn.ModuleList(StreamLayer(cfg, side, cross) for _ in range(cfg.num_layers))
        self.layer_norm = cfg.norm(cfg.final_norm)

    def rotations(self, layout: Layout, position: Tensor) -> List[Optional[Rotation]]:
        """The rotations of the rows of a layout, and of its tokens at (B*K, T) or (1, T) positions; None
        where positions are not rotary."""
        if self.cfg.positions != "rope":
            return [None, None]
        head_dim, dtype = self.cfg.embed_dim // self.cfg.num_heads, self.embed_tokens.weight.dtype
        tokens, rows = Rotation.by(position, head_dim, dtype), layout.spread(position)
        return [tokens if rows is position else Rotation.by(rows, head_dim, dtype), tokens]

    def rotated(self, seen: Seen) -> Seen:
        """Adds the rotations of this stack's rows and tokens to what its attentions see."""
        queries, tokens = self.rotations(seen.layout, seen.position)
        return replace(seen, queries=queries, tokens=tokens)

    def embed(
        self,
        layout: Layout,
        table: StreamTable,
        position: Tensor,
        prepared: Optional[Tensor] = None,
    ) -> Tensor:
        """(R, T, C) input of the first layer (Algorithm 1), see :meth:`Encoder.forward`."""
        x, added = table.embed(layout), self.embed_positions(position, prepared)
        x = x if added is None else x + layout.spread(added.to(x.dtype))
        rate = self.cfg.options.dropout if self.training else 0.0
        return dropout(self.layernorm_embedding(x), rate)


class Encoder(Stack):
    """Encodes the streams of each sentence together."""

    def __init__(self, embed_tokens: TokenEmbedding, cfg: StackConfig) -> None:
        super().__init__(embed_tokens, cfg, "E")

    def forward(
        self,
        layout: Layout,
        table: StreamTable,
        position: Tensor,
        prepared: Optional[Tensor] = None,
    ) -> Tensor:
        """(R, U, C) output of the last layer for a batch. Its tokens have (B, U) positions, or all
        (1, U), of which ``prepared`` is what the kind of positions has prepared."""
        x = self.embed(layout, table, position, prepared)
        seen = self.rotated(Seen(layout, position, *layout.at_once(causal=False)))
        for number, layer in enumerate(self.layers):
            x = layer(x, seen, number)
        return self.layer_norm(x)


class Decoder(Stack):
    """Decodes in slot space: inputs and outputs are canonical ids, never names. It projects with the
    matrix of embeddings, or with ``output_projection``."""

    def __init__(
        self,
        embed_tokens: TokenEmbedding,
        cfg: StackConfig,
        output_projection: Optional[TokenEmbedding] = None,
    ) -> None:
        super().__init__(embed_tokens, cfg, "D", cfg.pattern.cross)
        if cfg.options.stream_places == "read":
            self.layers.append(StreamLayer(cfg, "D", cfg.pattern.cross, light=True))
        self.output_projection = output_projection
        self.output_scale = AdaCosScale(embed_tokens.num_classes) if embed_tokens.cosine else None

    def forward(self, canonical: Tensor, memory: Memory) -> Tensor:
        """(B*K, P, V_n + S + R) logits after the P tokens that the memory has not read of (B*K, T)
        canonical ids so far; ``-inf`` for reserved slots that are neither taken nor next. Ids without a
        stream, which beams hold that are dead anyway, read as placeholders. Training is one call with
        an empty memory."""
        seen = self.rotated(memory.read(canonical))
        context = memory.context
        x = self.embed(seen.layout, context.target_table, seen.position)
        *layers, last = self.layers
        for number, layer in enumerate(layers):
            x = layer(x, seen, number)
        x = memory.finish(last, x, seen, len(layers))
        logits = context.output_table.project(self.layer_norm(x), context.streams)
        if self.output_scale is not None:
            logits = self.output_scale(logits)
        return context.close(logits, canonical)

    def project_encoder(self, source: EncodedSource) -> List[List[KeysValues]]:
        """Keys and values of each cross-attention, layer by layer: once per row (CP) or token (CA)
        of the sources."""
        if not self.cfg.pattern.cross:
            return []
        rows, tokens = self.rotations(source.layout, source.position)
        views = {"CP": (source.states, rows)}
        if "CA" in self.cfg.pattern.cross:
            views["CA"] = (source.layout.aggregate(source.states), tokens)
        return [
            [layer.encoder_attn[number].project(*views[letters]) for layer in self.layers]
            for number, letters in enumerate(self.cfg.pattern.cross)
        ]
