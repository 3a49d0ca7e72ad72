"""Algorithms 1-5 of the Symbol-Invariant Transformer, transcribed loop by loop.

The slow reference that the package is compared with. One sentence at a time, no
batch axis, no padding, no dropout; nothing of the package is imported.

Token indices are those of Algorithm 1: base tokens are ``0 .. V_n - 1``,
interchangeable tokens ``V_n .. V_n + k - 1``. The weight matrix has ``V_n + 2``
rows, row ``V_n`` being the actual and row ``V_n + 1`` the placeholder embedding.

With G sorts of symbols, which the paper has not, it has ``V_n + 2 G`` rows, an actual and a
placeholder embedding for each, and ``sorts`` says of which sort each stream's symbol is.

Shapes: k streams, L (source) or T (target) positions, d channels.
"""

import math
from dataclasses import dataclass
from typing import Callable, Dict, List, Optional, Sequence, Tuple

import torch
from torch import Tensor

Weights = Dict[str, Tensor]

ROPE_BASE = 10000.0

# The paper's ablation table.
PATTERNS = """
    EP-DP-EA-DA-CP EP-DP-EA-DA-CP-CA EP-DP-DA-CP DP-EA-DA-CP EP-DP-DA-CP-CA DP-EA-DA-CP-CA
    EP-DP-EA-CP EP-DP-EA-CP-CA EP-DP-CP-CA EP-DP-CP DP-EA-CP DP-EA-CP-CA EA-DA-CP EP-EA-DA-CP-CA
    EA-DA-CP-CA EP-EA-DA-CP EP-DA-CP EP-DP-EA-DA-CA EP-DA-CP-CA
""".split()


@dataclass
class LiteralConfig:
    """What the weights alone do not say about a model."""

    pattern: str  # attention blocks, e.g. "EP-DP-EA-DA-CP"
    layers: int
    heads: int
    eps: float = 1e-5
    normalize_before: bool = False
    cosine_head: bool = True
    scale_embedding: bool = True  # without the cosine head
    encoder_positions: str = "tree"  # or "rope", "table", "none"
    decoder_positions: str = "rope"  # or "table", "none"
    aggregated_normalize_before: bool = False
    num_sorts: int = 1  # G
    own: bool = False  # streams are the background but where their symbols stand
    light: bool = False  # the last layer of the decoder has attentions per stream alone
    source_places: Sequence[int] = range(1000)  # the position of each token
    target_places: Sequence[int] = range(1000)

    def symbols(self, H: Tensor) -> Tensor:
        """The streams of symbols among H (k + 1, ...), whose last is the background; of a sentence
        without symbols the background."""
        return H[:-1] if self.own and len(H) > 1 else H

    @property
    def decoder_layers(self) -> int:
        return self.layers + self.light

    def has(self, block: str) -> bool:
        return block in self.pattern.split("-")

    @property
    def cross_modes(self) -> List[str]:
        """The mode list of Algorithm 4, in the order of the pattern."""
        names = {"CP": "per", "CA": "agg"}
        return [names[block] for block in self.pattern.split("-") if block in names]


def embed(x: List[int], W: Tensor, sorts: List[int], num_sorts: int) -> Tuple[Tensor, Tensor]:
    """Algorithm 1: k views of one sentence.

    ``x`` has L tokens, ``W`` is (V_n + 2 G, d); returns E (k, L, d) and M (k, L).
    A sentence without symbols is called with one sort and gets an all-zero mask.
    """
    k, V_n = len(sorts), W.shape[0] - 2 * num_sorts
    E, M = [], []
    for i in range(k):
        view = list(x)
        for j in range(len(view)):
            if view[j] >= V_n:
                actual = V_n + 2 * sorts[view[j] - V_n]
                if view[j] == V_n + i:
                    view[j] = actual
                else:
                    view[j] = actual + 1
        E.append(torch.stack([W[token] for token in view]))
        M.append(W.new_tensor([1.0 if token == V_n + i else 0.0 for token in x]))
    return torch.stack(E), torch.stack(M)


def aggregate(H: Tensor, A: Tensor) -> Tensor:
    """Algorithm 2: fuse the streams H (k, L, d) under masks A (k, L) into G (L, d)."""
    k = H.shape[0]
    g = torch.zeros_like(H[0])
    for i in range(k):
        g = g + H[i]
    G = g / k
    for i in range(k):
        P = A[i]
        G = G * (1 - P[:, None]) + H[i] * P[:, None]
    return G


def project_places(H: Tensor, A: Tensor, cfg: LiteralConfig) -> Tensor:
    """Streams H (k + 1, L, d), each replaced by the last, the background, but at the places A
    (k + 1, L) of its symbol."""
    if not cfg.own:
        return H
    return torch.stack(
        [
            torch.stack([H[i][j] if A[i][j] == 1 else H[-1][j] for j in range(H.shape[1])])
            for i in range(H.shape[0])
        ]
    )


def rotary_angles(places: Sequence[int], head_dim: int) -> Tensor:
    """Angles p base^(-2i / head_dim) of position p, pair i: (length, head_dim / 2)."""
    angles = [[p * ROPE_BASE ** (-2 * i / head_dim) for i in range(head_dim // 2)] for p in places]
    return torch.tensor(angles, dtype=torch.float64)


def rotate(x: Tensor, angles: Tensor) -> Tensor:
    """Turn x (L, head_dim) by the angles; channel i pairs with i + head_dim / 2."""
    cos, sin = torch.cos(angles).to(x), torch.sin(angles).to(x)
    half = x.shape[1] // 2
    first, second = x[:, :half], x[:, half:]
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=1)


def linear(x: Tensor, w: Weights, name: str, part: int = 0, parts: int = 1) -> Tensor:
    """x W^T + b with one of the ``parts`` equal row blocks of a stored layer."""
    weight, bias = w[f"{name}.weight"], w[f"{name}.bias"]
    rows = weight.shape[0] // parts
    block = slice(part * rows, (part + 1) * rows)
    return x @ weight[block].T + bias[block]


def multi_head_attention(
    queries: Tensor,
    keys: Tensor,
    w: Weights,
    name: str,
    heads: int,
    rope: Optional[Tuple[Sequence[int], Sequence[int]]],
    mask: Optional[Tensor] = None,
) -> Tensor:
    """MHA(queries, keys, keys, mask) of Algorithms 3 and 4, weights of block ``name``.

    ``queries`` is (k, Lq, d). ``keys`` is (k, Lk, d), one view per stream, or
    (Lk, d), one view for all streams. ``rope`` has the positions of queries and keys to rotate
    by, of which the first Lq and Lk count. ``mask`` (Lq, Lk) is 0 where a query may look
    and -inf elsewhere. Returns (k, Lq, d).
    """
    k, _, d = queries.shape
    head_dim = d // heads
    if f"{name}.qkv_proj.weight" in w:
        Q = linear(queries, w, f"{name}.qkv_proj", 0, 3)
        K = linear(keys, w, f"{name}.qkv_proj", 1, 3)
        V = linear(keys, w, f"{name}.qkv_proj", 2, 3)
    else:
        Q = linear(queries, w, f"{name}.q_proj")
        K = linear(keys, w, f"{name}.kv_proj", 0, 2)
        V = linear(keys, w, f"{name}.kv_proj", 1, 2)
    if rope:
        q_angles = rotary_angles(rope[0][: queries.shape[-2]], head_dim)
        k_angles = rotary_angles(rope[1][: keys.shape[-2]], head_dim)
    streams = []
    for i in range(k):
        K_i, V_i = (K[i], V[i]) if keys.dim() == 3 else (K, V)
        outputs = []
        for h in range(heads):
            columns = slice(h * head_dim, (h + 1) * head_dim)
            q, key, value = Q[i][:, columns], K_i[:, columns], V_i[:, columns]
            if rope:
                q, key = rotate(q, q_angles), rotate(key, k_angles)
            scores = q @ key.T / math.sqrt(head_dim)
            if mask is not None:
                scores = scores + mask
            outputs.append(torch.softmax(scores, dim=-1) @ value)
        streams.append(linear(torch.cat(outputs, dim=-1), w, f"{name}.out_proj"))
    return torch.stack(streams)


def feed_forward(H: Tensor, w: Weights, layer: str) -> Tensor:
    """FFN of Algorithms 3 and 4, with relu; (k, L, d) -> (k, L, d)."""
    return linear(torch.relu(linear(H, w, f"{layer}.fc1")), w, f"{layer}.fc2")


def layer_norm(H: Tensor, w: Weights, name: str, eps: float) -> Tensor:
    """Norm of Algorithms 3 and 4, over the channels."""
    mean = H.mean(dim=-1, keepdim=True)
    variance = ((H - mean) ** 2).mean(dim=-1, keepdim=True)
    normal = (H - mean) / torch.sqrt(variance + eps)
    return normal * w[f"{name}.weight"] + w[f"{name}.bias"]


def sub_layer(
    H: Tensor, f: Callable[[Tensor], Tensor], w: Weights, norm: str, cfg: LiteralConfig
) -> Tensor:
    """Norm(H + f(H)) as in the algorithms, or H + f(Norm(H)) in pre-norm models."""
    before = cfg.normalize_before
    if "aggregated" in norm:
        before = before or cfg.aggregated_normalize_before
    if before:
        return H + f(layer_norm(H, w, norm, cfg.eps))
    return layer_norm(H + f(H), w, norm, cfg.eps)


def encoder_layer(H: Tensor, A: Tensor, w: Weights, i: int, cfg: LiteralConfig) -> Tensor:
    """Algorithm 3, layer ``i``: streams H (k, L, d), token masks A (k, L)."""
    layer = f"encoder.layers.{i}"
    rope = (cfg.source_places,) * 2 if cfg.encoder_positions == "rope" else None

    def per_stream(x: Tensor) -> Tensor:
        return multi_head_attention(x, x, w, f"{layer}.self_attn", cfg.heads, rope)

    def aggregated(x: Tensor) -> Tensor:
        G = aggregate(cfg.symbols(x), cfg.symbols(A))
        return multi_head_attention(x, G, w, f"{layer}.aggregated_attn", cfg.heads, rope)

    if cfg.has("EP"):
        H = sub_layer(H, per_stream, w, f"{layer}.self_attn_layer_norm", cfg)
        H = project_places(H, A, cfg)
    if cfg.has("EA"):
        H = sub_layer(H, aggregated, w, f"{layer}.aggregated_attn_layer_norm", cfg)
    H = sub_layer(H, lambda x: feed_forward(x, w, layer), w, f"{layer}.final_layer_norm", cfg)
    return project_places(H, A, cfg)


def decoder_layer(
    H: Tensor, A: Tensor, E: Tensor, A_e: Tensor, w: Weights, i: int, cfg: LiteralConfig
) -> Tensor:
    """Algorithm 4, layer ``i``: streams H (k, T, d) with token masks A (k, T),
    encoder output E (k, L, d) with token masks A_e (k, L)."""
    layer, last = f"decoder.layers.{i}", i == cfg.decoder_layers - 1
    light = last and cfg.light
    look_ahead = look_ahead_mask(H)
    rope = (cfg.target_places,) * 2 if cfg.decoder_positions == "rope" else None
    cross_rope = rope and (cfg.target_places, cfg.source_places)

    def per_stream(x: Tensor) -> Tensor:
        return multi_head_attention(x, x, w, f"{layer}.self_attn", cfg.heads, rope, look_ahead)

    def aggregated(x: Tensor) -> Tensor:
        G = aggregate(cfg.symbols(project_places(x, A, cfg)), cfg.symbols(A))
        name = f"{layer}.aggregated_attn"
        return multi_head_attention(x, G, w, name, cfg.heads, rope, look_ahead)

    if light or cfg.has("DP"):
        H = sub_layer(H, per_stream, w, f"{layer}.self_attn_layer_norm", cfg)
        H = H if last else project_places(H, A, cfg)
    if cfg.has("DA") and not light:
        H = sub_layer(H, aggregated, w, f"{layer}.aggregated_attn_layer_norm", cfg)
    for j, mode in enumerate(cfg.cross_modes):
        K = aggregate(cfg.symbols(E), cfg.symbols(A_e)) if mode == "agg" else E

        def cross(x: Tensor) -> Tensor:
            name = f"{layer}.encoder_attn.{j}"
            return multi_head_attention(x, K, w, name, cfg.heads, cross_rope)

        H = sub_layer(H, cross, w, f"{layer}.encoder_attn_layer_norm.{j}", cfg)
    if light:
        return H
    H = sub_layer(H, lambda x: feed_forward(x, w, layer), w, f"{layer}.final_layer_norm", cfg)
    return H if last else project_places(H, A, cfg)


def look_ahead_mask(H: Tensor) -> Tensor:
    """The mask m_la of Algorithm 4 for H (k, T, d): (T, T), -inf above the diagonal."""
    T = H.shape[1]
    return H.new_tensor(
        [[0.0 if key <= query else -math.inf for key in range(T)] for query in range(T)]
    )


# The rows of <s>, <pad> and <unk>, which no answer holds: masked as start and padding are in
# the published code.
SPECIALS = (0, 1, 3)


def project(H: Tensor, W: Tensor, sorts: List[int], num_sorts: int) -> Tensor:
    """Algorithm 5: H (k, L, d) and W (V_n + 2 G, d) give logits Y (L, V_n + k)."""
    k, V_n = H.shape[0], W.shape[0] - 2 * num_sorts
    Z = []
    for i in range(k):
        Z.append(H[i] @ W.T)
    Y = []
    for t in range(V_n):
        total = torch.zeros_like(Z[0][:, t])
        for i in range(k):
            total = total + Z[i][:, t]
        Y.append(torch.full_like(total, -math.inf) if t in SPECIALS else total / k)
    for i in range(k):
        Y.append(Z[i][:, V_n + 2 * sorts[i]])
    return torch.stack(Y, dim=1)


def tree_positions(arities: List[int], d: int, length: Optional[int] = None) -> Tensor:
    """Tree positions (length, d) of a formula in prefix order, given its arities.

    A row lists the steps from the node up to the root, nearest first, [1, 0] for a
    left or only child and [0, 1] for a right child. The root and the rows after the
    formula are zero.
    """
    left, right = [1.0, 0.0], [0.0, 1.0]
    rows: List[List[float]] = []

    def parse(path: List[float]) -> None:
        arity = arities[len(rows)]
        rows.append(path + [0.0] * (d - len(path)))
        if arity >= 1:
            parse(left + path)
        if arity == 2:
            parse(right + path)

    parse([])
    while length is not None and len(rows) < length:
        rows.append([0.0] * d)
    return torch.tensor(rows, dtype=torch.float64)


def l2_normalize(x: Tensor) -> Tensor:
    """Vectors of length one along the last axis."""
    norm = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
    return x / torch.clamp(norm, min=1e-12)


def embedding_matrix(w: Weights, name: str, cfg: LiteralConfig) -> Tensor:
    """A matrix (V_n + 2 G, d) as embedding or projection use it."""
    W = w[f"{name}.weight"]
    return l2_normalize(W) if cfg.cosine_head else W


def embed_scaled(
    x: List[int], w: Weights, side: str, sorts: List[int], cfg: LiteralConfig
) -> Tuple[Tensor, Tensor]:
    """Algorithm 1 with the scaling of the model; no symbols become one unmarked stream."""
    W = embedding_matrix(w, f"{side}.embed_tokens", cfg)
    d = W.shape[1]
    E, M = embed(x, W, sorts + [0] if cfg.own else sorts or [0], cfg.num_sorts)
    return (E * math.sqrt(d) if cfg.scale_embedding and not cfg.cosine_head else E), M


def finish_embedding(
    H: Tensor, positions: Optional[Tensor], w: Weights, side: str, cfg: LiteralConfig
) -> Tensor:
    """Adds positions (L, d) to all streams, then norms if the model has that norm."""
    if positions is not None:
        H = torch.stack([stream + positions.to(H) for stream in H])
    if f"{side}.layernorm_embedding.weight" in w:
        H = layer_norm(H, w, f"{side}.layernorm_embedding", cfg.eps)
    return H


def table_positions(places: Sequence[int], w: Weights, side: str) -> Tensor:
    """Rows 2, 3, ... of a table: fairseq counts from the index of padding, 1, plus one."""
    return torch.stack([w[f"{side}.embed_positions.weight"][2 + p] for p in places])


def final_norm(H: Tensor, w: Weights, side: str, cfg: LiteralConfig) -> Tensor:
    """The norm after the last layer, if the model has one."""
    if f"{side}.layer_norm.weight" in w:
        return layer_norm(H, w, f"{side}.layer_norm", cfg.eps)
    return H


def encode(
    w: Weights,
    cfg: LiteralConfig,
    source: List[int],
    sorts: List[int],
    arities: Optional[List[int]] = None,
) -> Tuple[Tensor, Tensor]:
    """Encoder output (k, L, d) and source token masks (k, L)."""
    H, A = embed_scaled(source, w, "encoder", sorts, cfg)
    positions = None
    if cfg.encoder_positions == "tree":
        positions = tree_positions(arities, H.shape[-1], len(source))
    if cfg.encoder_positions == "table":
        positions = table_positions(cfg.source_places[: len(source)], w, "encoder")
    H = finish_embedding(H, positions, w, "encoder", cfg)
    for i in range(cfg.layers):
        H = encoder_layer(H, A, w, i, cfg)
    return final_norm(H, w, "encoder", cfg), A


def decode(
    w: Weights,
    cfg: LiteralConfig,
    E: Optional[Tensor],
    A_e: Optional[Tensor],
    previous: List[int],
    sorts: List[int],
) -> Tensor:
    """Decoder features (k, T, d), before any normalisation of the cosine head."""
    H, A = embed_scaled(previous, w, "decoder", sorts, cfg)
    positions = None
    if cfg.decoder_positions == "table":
        positions = table_positions(cfg.target_places[: len(previous)], w, "decoder")
    H = finish_embedding(H, positions, w, "decoder", cfg)
    for i in range(cfg.decoder_layers):
        H = decoder_layer(H, A, E, A_e, w, i, cfg)
    return final_norm(H, w, "decoder", cfg)


def forward(
    w: Weights,
    cfg: LiteralConfig,
    source: List[int],
    previous: List[int],
    k: int,
    arities: Optional[List[int]] = None,
    sorts: Optional[List[int]] = None,
) -> Tensor:
    """Logits (T, V_n + k) of the whole model for one sentence.

    ``source`` ends with eos, ``arities`` are those of the tokens before it. A decoder without
    cross-attentions has no source, ``[]``. With
    ``k=0`` the single stream stands for no symbol, so its symbol logit is left out. ``sorts`` are
    those of the k symbols.
    """
    sorts = [0] * k if sorts is None else sorts
    E, A_e = encode(w, cfg, source, sorts, arities) if source else (None, None)
    H = cfg.symbols(decode(w, cfg, E, A_e, previous, sorts))
    W = embedding_matrix(w, "decoder.output_projection", cfg)
    Y = project(l2_normalize(H) if cfg.cosine_head else H, W, sorts or [0], cfg.num_sorts)
    return Y[:, : W.shape[0] - 2 * cfg.num_sorts + k]


def close_reserved(Y: Tensor, previous: List[int], first: int, sorts: List[int]) -> Tensor:
    """Logits Y (T, first + R) over columns of which the last R, of these sorts, are of streams whose
    symbols the source lacks.

    Before each target token those are open that ``previous`` holds so far, and the next of each
    sort.
    """
    rows = []
    for t in range(Y.shape[0]):
        taken = {token for token in previous[: t + 1] if token >= first}
        row, seen_next = [], set()
        for column in range(Y.shape[1]):
            open_ = column < first or column in taken
            if not open_ and sorts[column - first] not in seen_next:
                seen_next.add(sorts[column - first])
                open_ = True
            row.append(Y[t, column] if open_ else torch.full_like(Y[t, column], -math.inf))
        rows.append(torch.stack(row))
    return torch.stack(rows)
