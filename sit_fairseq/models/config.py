"""The options of a model, and the configuration of its encoder and decoder."""

from dataclasses import dataclass, field
from typing import Any, Optional, Tuple

from torch import nn

from sit_fairseq.errors import UserError
from sit_fairseq.symbols.fresh import fresh_numbers

SYMBOL_EMBEDDINGS = ("streams", "fixed", "canonical", "random")
_CHOICES = {
    "symbol_embedding": SYMBOL_EMBEDDINGS,
    "encoder_positions": ("tree", "rope", "sinusoidal", "learned", "none"),
    "decoder_positions": ("rope", "sinusoidal", "learned", "none"),
    "share_embeddings": ("all", "decoder", "none"),
    "output_head": ("cosine", "linear"),
}
_LETTERS = ("EP", "DP", "EA", "DA", "CP", "CA")

# Each has a column of the output, and a checkpoint may ask for any number.
_MOST_FRESH = 1000


def _option(default: Any, text: str) -> Any:
    return field(default=default, metadata={"help": text})


@dataclass
class ModelConfig:
    """Options of the model; the defaults are the paper's for propositional logic, all but
    ``layer_norm_eps``, which is fairseq's."""

    symbol_embedding: str = _option(
        "streams",
        "how symbols get their vectors: streams, one for each symbol; or, in baselines with one "
        "stream per sentence, fixed (a learnt row for each name), canonical (for the first, "
        "second, ... symbol of a sentence), random (a shared row and a random code)",
    )
    symbol_code_dim: int = _option(
        8,
        "channels of the codes of random symbols: they tell 2 to the power of that "
        "many symbols apart",
    )
    fresh_symbols: Any = _option(
        0,
        "number of symbols that a target may hold beyond its source's; with named sorts such as "
        "table=1,column=2",
    )
    stream_attention: str = _option(
        "EP-DP-EA-DA-CP",
        "attentions of the model in the paper's letters, E(ncoder), D(ecoder) or C(ross), P(er "
        "stream) or A(ggregated); CP and CA are applied in the given order",
    )
    encoder_embed_dim: int = _option(96, "channels of the encoder and its embedding")
    encoder_ffn_embed_dim: int = _option(
        768, "hidden channels of the encoder's feed-forward network"
    )
    encoder_layers: int = _option(6, "encoder layers")
    encoder_attention_heads: int = _option(6, "encoder attention heads")
    encoder_normalize_before: bool = _option(False, "layer norm before each encoder sub-layer")
    encoder_positions: str = _option(
        "tree",
        "tree positions, for formulas in prefix notation; rope (rotary ones); or the positions of "
        "fairseq's transformer: sinusoidal, learned, none",
    )
    tree_depth: int = _option(
        0,
        "depth up to which tree positions tell tokens apart; 0 for half the embedding dimension, "
        "a larger depth is projected to it by a learned matrix",
    )
    no_encoder_final_norm: bool = _option(
        False, "no layer norm after the last encoder layer of a pre-norm model"
    )
    decoder_embed_dim: Optional[int] = _option(
        None, "channels of the decoder and its embedding (default: the encoder's)"
    )
    decoder_ffn_embed_dim: Optional[int] = _option(
        None, "hidden channels of the decoder's feed-forward network (default: the encoder's)"
    )
    decoder_layers: Optional[int] = _option(None, "decoder layers (default: the encoder's)")
    decoder_attention_heads: Optional[int] = _option(
        None, "decoder attention heads (default: the encoder's)"
    )
    decoder_normalize_before: bool = _option(False, "layer norm before each decoder sub-layer")
    decoder_positions: str = _option(
        "rope", "rotary positions (rope), or sinusoidal, learned, none"
    )
    no_decoder_final_norm: bool = _option(
        False, "no layer norm after the last decoder layer of a pre-norm model"
    )
    aggregated_normalize_before: bool = _option(
        False,
        "layer norm before aggregated self-attention also in a post-norm model: where its output "
        "is zero it then changes nothing",
    )
    share_embeddings: str = _option(
        "all",
        "all: one matrix for all uses; decoder: one for the encoder and one for decoder and "
        "output; none: three",
    )
    no_scale_embedding: bool = _option(
        False,
        "under the linear head, do not multiply embeddings by the square root of their dimension",
    )
    scale_cosine_embedding: bool = _option(
        False,
        "multiply embeddings by the square root of their dimension under the cosine head too, as "
        "the paper's baselines do",
    )
    layernorm_embedding: bool = _option(False, "layer norm of embeddings with their positions")
    layer_norm_eps: float = _option(
        1e-5, "term that layer norms add to the variance; the paper's models have 1e-6"
    )
    output_head: str = _option(
        "cosine", "logits are scaled cosines (cosine, needed by adacos) or dot products (linear)"
    )
    dropout: float = _option(0.1, "dropout of every sub-layer's output")
    attention_dropout: float = _option(0.0, "dropout of attention weights")
    activation_dropout: float = _option(0.0, "dropout inside the feed-forward network")
    activation_fn: str = _option("relu", "activation of the feed-forward network")
    max_source_positions: int = _option(1024, "most tokens of a source")
    max_target_positions: int = _option(1024, "most tokens of a target")


def check(cfg: ModelConfig) -> None:
    """Refuses values that are unknown or contradict each other.

    Raises:
        UserError: naming the option to change.
    """
    for name, choices in _CHOICES.items():
        value = getattr(cfg, name)
        if value not in choices:
            words = name.replace("_", " ")
            raise UserError(f"the {words} {value!r} is none of {', '.join(choices)}", name)
    encoder, decoder = (StackConfig.of(cfg, side) for side in ("encoder", "decoder"))
    channels, fresh = encoder.embed_dim, sum(fresh_numbers(cfg.fresh_symbols).values())
    kind, one_stream = cfg.symbol_embedding, cfg.symbol_embedding != "streams"
    codes_fit = 0 < cfg.symbol_code_dim < channels
    faults = [
        (
            cfg.share_embeddings == "all" and channels != decoder.embed_dim,
            f"one matrix cannot serve an encoder of {channels} and a decoder of "
            f"{decoder.embed_dim} channels",
            "share_embeddings decoder_embed_dim",
        ),
        (
            not cfg.layer_norm_eps > 0,
            f"layer norms add {cfg.layer_norm_eps}, which must be positive",
            "layer_norm_eps",
        ),
        (
            min(encoder.num_layers, decoder.num_layers) < 1,
            f"encoder and decoder have {encoder.num_layers} and {decoder.num_layers} layers, but "
            "each needs one",
            "encoder_layers decoder_layers",
        ),
        *(
            (not 0 <= getattr(cfg, name) < 1, f"{getattr(cfg, name)} is not in [0, 1)", name)
            for name in ("dropout", "attention_dropout", "activation_dropout")
        ),
        (cfg.tree_depth < 0, f"a tree cannot be {cfg.tree_depth} operators deep", "tree_depth"),
        (
            fresh > _MOST_FRESH,
            f"{fresh} fresh symbols are more than {_MOST_FRESH}",
            "fresh_symbols",
        ),
        (
            one_stream and encoder.pattern.aggregated,
            f"sentences have one stream with {kind} symbols, so that the aggregated attentions of "
            f"{cfg.stream_attention} have nothing to aggregate; EP-DP-CP has none",
            "stream_attention",
        ),
        (
            one_stream and fresh > 0,
            f"fresh symbols need streams, which models of {kind} symbols lack",
            "fresh_symbols symbol_embedding",
        ),
        (
            kind == "random" and cfg.share_embeddings != "all",
            "random codes must be the same in encoder and decoder, which one matrix gives",
            "share_embeddings",
        ),
        (
            kind == "random" and not codes_fit,
            f"codes of {cfg.symbol_code_dim} channels do not leave some of {channels}",
            "symbol_code_dim",
        ),
    ]
    for fault, reason, options in faults:
        if fault:
            raise UserError(reason, options)


@dataclass(frozen=True)
class AttentionPattern:
    """The paper's letters for which attentions a model has (section 5.5).

    Attributes:
        letters: E(ncoder), D(ecoder) or C(ross) attention, P(er stream) or A(ggregated).
        cross: the cross-attentions of each decoder layer in their order, ``"CP"`` (to the
            encoder's stream of the same symbol) or ``"CA"`` (to its aggregated view).
    """

    letters: Tuple[str, ...]
    cross: Tuple[str, ...]

    def __contains__(self, letters: str) -> bool:
        return letters in self.letters

    @property
    def aggregated(self) -> bool:
        """Whether any attention sees streams together (EA, DA or CA)."""
        return any(letters in self for letters in ("EA", "DA", "CA"))

    @classmethod
    def parse(cls, text: str) -> "AttentionPattern":
        """Reads a pattern such as ``EP-DP-EA-DA-CP``; only the order of CP and CA counts.

        Raises:
            UserError: if a part is unknown or repeated, or both CP and CA are missing.
        """
        parts = tuple(text.split("-"))
        wrong = [part for part in parts if part not in _LETTERS or parts.count(part) > 1]
        if wrong:
            raise UserError(
                f"{wrong[0]!r} in the attentions {text!r} is unknown or repeated; join some of "
                f"{' '.join(_LETTERS)} with hyphens",
                "stream_attention",
            )
        cross = tuple(part for part in parts if part in ("CP", "CA"))
        if not cross:
            raise UserError(
                f"the attentions {text!r} let the decoder see nothing of the source; add CP or CA",
                "stream_attention",
            )
        return cls(parts, cross)


@dataclass(frozen=True)
class StackConfig:
    """The configuration of one side, encoder or decoder: its layers, positions and norms.

    Attributes:
        embed_dim: C.
        view_dim: channels of the encoder's output, which cross-attentions read.
        ffn_dim: hidden channels of the feed-forward networks.
        num_heads: heads of every attention.
        num_layers: the number of layers.
        pattern: the attentions of the layers.
        positions: ``tree``, ``rope``, ``sinusoidal``, ``learned`` or ``none``.
        max_positions: the longest sequence in tokens.
        normalize_before: layer norm before each sub-layer instead of after the residual sum.
        aggregated_normalize_before: layer norm before the attention to the aggregated view.
        final_norm: layer norm of the last layer's output.
        options: all others.
    """

    embed_dim: int
    view_dim: int
    ffn_dim: int
    num_heads: int
    num_layers: int
    pattern: AttentionPattern
    positions: str
    max_positions: int
    normalize_before: bool
    aggregated_normalize_before: bool
    final_norm: bool
    options: ModelConfig

    @classmethod
    def of(cls, cfg: ModelConfig, side: str) -> "StackConfig":
        """The ``encoder`` or the ``decoder``.

        Raises:
            UserError: channels do not divide into heads, or the pattern of attentions is none.
        """

        def size(name: str) -> int:
            own = getattr(cfg, f"{side}_{name}")
            return getattr(cfg, f"encoder_{name}") if own is None else own

        dim, heads = size("embed_dim"), size("attention_heads")
        positions = getattr(cfg, f"{side}_positions")
        rotary = positions == "rope"
        if heads < 1 or dim < 1 or dim % (2 * heads if rotary else heads):
            raise UserError(
                f"{dim} channels do not divide into {heads} heads"
                f"{' with an even number of channels, as rotary positions need' if rotary else ''}",
                f"{side}_embed_dim {side}_attention_heads",
            )
        before = getattr(cfg, f"{side}_normalize_before")
        return cls(
            embed_dim=dim,
            view_dim=cfg.encoder_embed_dim,
            ffn_dim=size("ffn_embed_dim"),
            num_heads=heads,
            num_layers=size("layers"),
            pattern=AttentionPattern.parse(cfg.stream_attention),
            positions=positions,
            max_positions=getattr(
                cfg, f"max_{'source' if side == 'encoder' else 'target'}_positions"
            ),
            normalize_before=before,
            aggregated_normalize_before=before or cfg.aggregated_normalize_before,
            final_norm=before and not getattr(cfg, f"no_{side}_final_norm"),
            options=cfg,
        )

    def norm(self, present: bool = True) -> nn.Module:
        """A layer norm over the channels, or nothing in its place."""
        return (
            nn.LayerNorm(self.embed_dim, eps=self.options.layer_norm_eps)
            if present
            else nn.Identity()
        )
