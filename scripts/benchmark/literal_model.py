"""Algorithms 1 to 5 of the paper for whole batches, as they are written.

The yardstick of the benchmark: what one gets from writing the paper's loops as tensors and
no more. Every symbol of the dictionary is a stream of every sentence, present or not.
Names of parameters are those of the package's model, so that they can share weights.

Shapes: B sentences (or hypotheses), S streams, U source and T target tokens, C channels,
V_n base tokens.
"""

import math
from functools import partial
from typing import Any, Dict, List, Optional, Tuple

import torch
import torch.nn.functional as F
from fairseq.models import (
    FairseqEncoder,
    FairseqEncoderDecoderModel,
    FairseqIncrementalDecoder,
)
from torch import Tensor, nn

from sit_fairseq.domains.formulas.syntax import ARITY
from sit_fairseq.models.attention import Rotation
from sit_fairseq.models.config import AttentionPattern
from sit_fairseq.models.positions import TreePositions
from sit_fairseq.symbols.slots import Slots
from sit_fairseq.symbols.vocabulary import Vocabulary

Cache = Dict[str, Tuple[Tensor, Tensor]]


class _Attention(nn.Module):
    """Multi-head attention of streams to one view each, or all to the same view."""

    def __init__(self, cfg, own_view: bool, rope: bool) -> None:
        super().__init__()
        dim = cfg.encoder_embed_dim
        self.heads = cfg.encoder_attention_heads
        self.qkv_proj = nn.Linear(dim, 3 * dim) if own_view else None
        if not own_view:
            self.q_proj, self.kv_proj = nn.Linear(dim, dim), nn.Linear(dim, 2 * dim)
        self.out_proj = nn.Linear(dim, dim)
        self.rope = rope

    def forward(
        self,
        hidden: Tensor,
        view: Optional[Tensor],
        allowed: Optional[Tensor],
        step: int = 0,
        past: Optional[Tuple[Tensor, Tensor]] = None,
    ) -> Tuple[Tensor, Tuple[Tensor, Tensor]]:
        """hidden (B, S, T, C), its first token at position ``step``; view (B, S or 1, U, C),
        whose keys follow those of the past, or None if the past has all; allowed broadcasts
        to (B, S, H, T, U). Returns (B, S, T, C), and all keys and values."""
        new = ()
        if self.qkv_proj is not None:
            queries, *new = self.qkv_proj(hidden).chunk(3, dim=3)
        else:
            queries = self.q_proj(hidden)
            if view is not None:
                new = self.kv_proj(view).chunk(2, dim=3)
        queries = self._rotate(self._split(queries), step)
        if new:
            keys, values = map(self._split, new)
            keys = self._rotate(keys, step)
            if past is not None:
                keys, values = (torch.cat(both, dim=3) for both in zip(past, (keys, values)))
        else:
            keys, values = past
        scores = queries @ keys.transpose(3, 4) / math.sqrt(queries.size(4))
        if allowed is not None:
            scores = scores.masked_fill(~allowed, -math.inf)
        mixed = torch.softmax(scores, dim=4) @ values
        return self.out_proj(mixed.transpose(2, 3).flatten(3)), (keys, values)

    def _rotate(self, x: Tensor, step: int) -> Tensor:
        if not self.rope:
            return x
        position = torch.arange(step, step + x.size(-2), device=x.device).unsqueeze(0)
        return Rotation.by(position, x.size(-1), x.dtype)(x)

    def _split(self, x: Tensor) -> Tensor:
        return x.unflatten(3, (self.heads, -1)).transpose(2, 3)


class _Layer(nn.Module):
    """Algorithm 3 (encoder) or 4 (decoder)."""

    def __init__(self, cfg, pattern: AttentionPattern, decoder: bool) -> None:
        super().__init__()
        dim, ffn_dim = cfg.encoder_embed_dim, cfg.encoder_ffn_embed_dim
        per_stream = ("DP" if decoder else "EP") in pattern
        aggregated = ("DA" if decoder else "EA") in pattern
        cross = len(pattern.cross) if decoder else 0
        rope = decoder or cfg.encoder_positions == "rope"
        norm = partial(nn.LayerNorm, dim, eps=cfg.layer_norm_eps)
        self.self_attn = _Attention(cfg, True, rope) if per_stream else None
        self.self_attn_layer_norm = norm() if per_stream else None
        self.aggregated_attn = _Attention(cfg, False, rope) if aggregated else None
        self.aggregated_attn_layer_norm = norm() if aggregated else None
        self.encoder_attn = nn.ModuleList(_Attention(cfg, False, True) for _ in range(cross))
        self.encoder_attn_layer_norm = nn.ModuleList(norm() for _ in range(cross))
        self.fc1, self.fc2 = nn.Linear(dim, ffn_dim), nn.Linear(ffn_dim, dim)
        self.final_layer_norm = norm()
        self.rate = cfg.dropout

    def forward(
        self,
        hidden: Tensor,
        mask: Tensor,
        allowed: Optional[Tensor],
        views: Tuple[Tensor, ...] = (),
        readable: Optional[Tensor] = None,
        cache: Optional[Cache] = None,
        step: int = 0,
    ) -> Tensor:
        """hidden (B, S, T, C) from position ``step`` on; mask (B, S, T), 1 where the token is
        the stream's symbol; views of the source for the cross-attentions, of which
        ``readable`` may be seen; keys and values of earlier steps, updated in place."""
        cache = {} if cache is None else cache
        if self.self_attn is not None:
            mixed, cache["own"] = self.self_attn(hidden, hidden, allowed, step, cache.get("own"))
            hidden = self._add(hidden, mixed, self.self_attn_layer_norm)
        if self.aggregated_attn is not None:
            view = aggregate(hidden, mask).unsqueeze(1)
            mixed, cache["all"] = self.aggregated_attn(
                hidden, view, allowed, step, cache.get("all")
            )
            hidden = self._add(hidden, mixed, self.aggregated_attn_layer_norm)
        for number, (attention, norm) in enumerate(
            zip(self.encoder_attn, self.encoder_attn_layer_norm)
        ):
            name = f"cross{number}"
            # At step 0 the positions of the source start where those of the target do.
            view = None if name in cache else views[number]
            mixed, cache[name] = attention(hidden, view, readable, step, cache.get(name))
            hidden = self._add(hidden, mixed, norm)
        return self._add(hidden, self.fc2(torch.relu(self.fc1(hidden))), self.final_layer_norm)

    def _add(self, hidden: Tensor, change: Tensor, norm: nn.Module) -> Tensor:
        return norm(hidden + F.dropout(change, self.rate, self.training))


def aggregate(hidden: Tensor, mask: Tensor) -> Tensor:
    """Algorithm 2: (B, S, T, C) streams under (B, S, T) masks to (B, T, C)."""
    mask = mask.unsqueeze(3)
    own = (hidden * mask).sum(1)
    return hidden.mean(1) * (1 - mask.sum(1)) + own


class _Embedding(nn.Module):
    """Algorithms 1 and 5, with the L2 normalisation of the cosine loss."""

    def __init__(self, vocabulary: Vocabulary, dim: int) -> None:
        super().__init__()
        self.vocabulary = vocabulary
        self.weight = nn.Parameter(torch.randn(vocabulary.num_base + 2, dim))
        dictionary = vocabulary.dictionary
        symbols = [dictionary.index(symbol) for symbol in dictionary.known_symbols()]
        self.register_buffer("symbols", torch.tensor(symbols), persistent=False)

    def forward(self, tokens: Tensor) -> Tuple[Tensor, Tensor]:
        """(B, T) dictionary indices to (B, S, T, C) views and (B, S, T) masks."""
        base, num_symbols = self.vocabulary.num_base, self.symbols.numel()
        slots = Slots(self.vocabulary, self.symbols.expand(tokens.size(0), -1))
        ids = slots.encode(tokens)
        stream = torch.arange(num_symbols, device=ids.device).view(-1, 1)
        ids = ids.unsqueeze(1).expand(-1, num_symbols, -1)
        own = ids == base + stream
        views = torch.where(ids >= base, torch.where(own, base, base + 1), ids)
        weight = F.normalize(self.weight, dim=1)
        return F.embedding(views, weight), own.to(weight.dtype)

    def project(self, hidden: Tensor) -> Tensor:
        """(B, S, T, C) to (B, T, dictionary) cosines; -inf for what is no token."""
        cosines = F.normalize(hidden, dim=3) @ F.normalize(self.weight, dim=1).T
        base = self.vocabulary.num_base
        mean = cosines[..., :base].mean(1)
        mean = mean.masked_fill(self.vocabulary.source_only.bool(), -math.inf)
        columns = torch.cat((mean, cosines[..., base].transpose(1, 2)), 2)
        logits = columns.new_full((*columns.shape[:2], len(self.vocabulary.dictionary)), -math.inf)
        index_of_row = self.vocabulary.index_of_row.to(self.symbols)
        logits[..., torch.cat((index_of_row, self.symbols))] = columns
        return logits


class _Encoder(FairseqEncoder):
    def __init__(self, cfg, pattern: AttentionPattern, embed_tokens: _Embedding) -> None:
        super().__init__(embed_tokens.vocabulary.dictionary)
        self.embed_tokens = embed_tokens
        tree = cfg.encoder_positions == "tree"
        self.embed_positions = (
            TreePositions(embed_tokens.vocabulary, cfg.encoder_embed_dim, cfg.tree_depth)
            if tree
            else None
        )
        self.layers = nn.ModuleList(_Layer(cfg, pattern, False) for _ in range(cfg.encoder_layers))
        self.rate, self.aggregated = cfg.dropout, "CA" in pattern.cross

    def forward(self, src_tokens: Tensor, src_lengths: Tensor, **unused: Any) -> Dict[str, Any]:
        hidden, mask = self.embed_tokens(src_tokens)
        if self.embed_positions is not None:
            rows = self.embed_tokens.vocabulary.rows(src_tokens)
            paths = self.embed_positions.prepare(rows.cpu(), src_lengths.cpu() - 1)
            positions = self.embed_positions(rows, paths).to(hidden)
            hidden = hidden + positions.unsqueeze(1)
        hidden = F.dropout(hidden, self.rate, self.training)
        allowed = src_tokens.ne(self.dictionary.pad())[:, None, None, None]
        for layer in self.layers:
            hidden = layer(hidden, mask, allowed)
        found = {"encoder_out": hidden, "allowed": allowed}
        if self.aggregated:
            found["aggregated"] = aggregate(hidden, mask).unsqueeze(1)
        return found

    def reorder_encoder_out(self, encoder_out: Dict[str, Tensor], new_order: Tensor):
        return {name: value.index_select(0, new_order) for name, value in encoder_out.items()}

    def max_positions(self) -> int:
        return 1024


class _Decoder(FairseqIncrementalDecoder):
    def __init__(self, cfg, pattern: AttentionPattern, embed_tokens: _Embedding) -> None:
        super().__init__(embed_tokens.vocabulary.dictionary)
        self.embed_tokens = embed_tokens
        self.layers = nn.ModuleList(_Layer(cfg, pattern, True) for _ in range(cfg.encoder_layers))
        self.rate, self.cross = cfg.dropout, pattern.cross
        # AdaCos' first value; the benchmark does not let it follow.
        self.scale = math.sqrt(2) * math.log(embed_tokens.vocabulary.num_base)

    def forward(
        self,
        prev_output_tokens: Tensor,
        encoder_out: Dict[str, Tensor],
        incremental_state: Optional[Dict[str, Any]] = None,
        **unused: Any,
    ) -> Tuple[Tensor, Dict[str, Any]]:
        length = prev_output_tokens.size(1)
        caches: List[Optional[Cache]] = [None] * len(self.layers)
        step = 0
        if incremental_state is not None:
            caches = incremental_state.setdefault("caches", [{} for _ in self.layers])
            prev_output_tokens = prev_output_tokens[:, -1:]
            step, allowed = length - 1, None
        else:
            allowed = (
                torch.ones(length, length, dtype=torch.bool).tril().to(prev_output_tokens.device)
            )
        hidden, mask = self.embed_tokens(prev_output_tokens)
        hidden = F.dropout(hidden, self.rate, self.training)
        views = tuple(
            encoder_out["encoder_out" if kind == "CP" else "aggregated"] for kind in self.cross
        )
        for layer, cache in zip(self.layers, caches):
            hidden = layer(hidden, mask, allowed, views, encoder_out["allowed"], cache, step)
        return self.embed_tokens.project(hidden) * self.scale, {"attn": [None]}

    def reorder_incremental_state(self, incremental_state: Dict[str, Any], new_order: Tensor):
        for cache in incremental_state.get("caches", []):
            for name, pair in cache.items():
                # Beams of a sentence see the same source: only sentences that end matter.
                if name.startswith("cross") and pair[0].size(0) == new_order.numel():
                    continue
                cache[name] = tuple(tensor.index_select(0, new_order) for tensor in pair)

    def max_positions(self) -> int:
        return 1024


class LiteralModel(FairseqEncoderDecoderModel):
    """The paper's model for every symbol of a dictionary, for fairseq's own generator.

    Args:
        cfg: options of the package's model, of which sizes, pattern, positions of the
            encoder, dropout and the term of the layer norms count.
        dictionary: a :class:`StreamDictionary` with its pattern set.
    """

    def __init__(self, cfg, dictionary) -> None:
        pattern = AttentionPattern.parse(cfg.stream_attention)
        embedding = _Embedding(Vocabulary(dictionary, arity=ARITY), cfg.encoder_embed_dim)
        super().__init__(_Encoder(cfg, pattern, embedding), _Decoder(cfg, pattern, embedding))
