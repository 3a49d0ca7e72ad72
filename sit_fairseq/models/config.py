"""The options of a model, and the configuration of its encoder and decoder."""

from dataclasses import dataclass, field, fields
from typing import Any, Optional, Sequence, Tuple

from torch import nn

from sit_fairseq.errors import UserError
from sit_fairseq.symbols.fresh import fresh_numbers

# The kinds of models with a source, see :mod:`sit_fairseq.models.baselines`.
SYMBOL_EMBEDDINGS = ("streams", "fixed", "canonical", "random")
_POSITIONS = ("rope", "sinusoidal", "learned", "none")
_LETTERS = ("EP", "DP", "EA", "DA", "CP", "CA")
_ACTIVATIONS = ("relu", "gelu", "gelu_accurate", "gelu_fast", "tanh", "linear")

# Each has a column of the output, and a checkpoint may ask for any number.
_MOST_FRESH = 1000


def option(default: Any, text: str, choices: Sequence[str] = ()) -> Any:
    """A field of options; ``choices`` are the only values, if there are some."""
    return field(default=default, metadata={"help": text, "choices": choices})


@dataclass
class DecoderOptions:
    """Options of a decoder and of its vectors, which all models have."""

    symbol_embedding: str = option(
        "streams",
        "vectors of symbols: streams, one for each symbol; or, in baselines with one stream per "
        "sentence: fixed, a row for each name; canonical, a row for the first, second, ... symbol "
        "of a sentence; random, a shared row and a random code",
        SYMBOL_EMBEDDINGS,
    )
    fresh_symbols: Any = option(
        0,
        "how many symbols a target may have that its source lacks; of named sorts: table=1,column=2",
    )
    stream_attention: str = option(
        "EP-DP-EA-DA-CP",
        "attentions in the paper's letters: E(ncoder), D(ecoder) or C(ross), P(er stream) or "
        "A(ggregated); CP and CA are applied in the order that you name",
    )
    stream_places: str = option(
        "all",
        "where a symbol has a stream of its own: everywhere (all, the paper's); or where it stands, "
        "with one background stream elsewhere, but for the decoder's last layer (own) or for an "
        "additional light one (read)",
        ("all", "own", "read"),
    )
    decoder_normalize_before: bool = option(False, "layer norm before each decoder sub-layer")
    decoder_positions: str = option("rope", "rope (rotary), sinusoidal, learned, none", _POSITIONS)
    no_decoder_final_norm: bool = option(False, "no layer norm after a pre-norm decoder")
    position_gaps: int = option(
        0,
        "in training, spread up to this many places at random over the gaps of a sentence, so that "
        "positions are as large as in longer ones; validation and answers have no gaps",
    )
    aggregated_normalize_before: bool = option(
        False, "layer norm before aggregated self-attention in a post-norm model too"
    )
    no_scale_embedding: bool = option(
        False,
        "under the linear head, do not multiply embeddings by the square root of their channels",
    )
    scale_cosine_embedding: bool = option(
        False,
        "under the cosine head too, multiply embeddings by that root, as in the paper's baselines",
    )
    layernorm_embedding: bool = option(False, "layer norm after embeddings and positions")
    layer_norm_eps: float = option(
        1e-5, "term that layer norms add to the variance; the paper's models have 1e-6"
    )
    output_head: str = option(
        "cosine",
        "logits are scaled cosines (cosine, for adacos) or dot products (linear)",
        ("cosine", "linear"),
    )
    dropout: float = option(0.1, "dropout of every sub-layer's output")
    attention_dropout: float = option(0.0, "dropout of attention weights")
    activation_dropout: float = option(0.0, "dropout inside the feed-forward network")
    activation_fn: str = option("relu", "activation of the feed-forward network", _ACTIVATIONS)
    max_target_positions: int = option(1024, "most tokens of a target")


@dataclass
class ModelConfig(DecoderOptions):
    """Options of the model; the defaults are the paper's for propositional logic, all but
    ``layer_norm_eps``, which is fairseq's."""

    symbol_code_dim: int = option(
        8, "channels N of the codes of random symbols, which tell 2^N symbols apart"
    )
    encoder_embed_dim: int = option(96, "channels of the encoder and its embedding")
    encoder_ffn_embed_dim: int = option(768, "hidden channels of encoder feed-forward networks")
    encoder_layers: int = option(6, "encoder layers")
    encoder_attention_heads: int = option(6, "encoder attention heads")
    encoder_normalize_before: bool = option(False, "layer norm before each encoder sub-layer")
    encoder_positions: str = option(
        "tree",
        "tree (formulas in prefix notation), rope (rotary), or as in fairseq's transformer: "
        "sinusoidal, learned, none",
        ("tree", *_POSITIONS),
    )
    tree_depth: int = option(
        0,
        "depth up to which tree positions tell tokens apart; 0 for half the channels; a learned "
        "matrix projects a larger depth to the channels",
    )
    no_encoder_final_norm: bool = option(False, "no layer norm after a pre-norm encoder")
    decoder_embed_dim: Optional[int] = option(
        None, "channels of the decoder (default: the encoder's)"
    )
    decoder_ffn_embed_dim: Optional[int] = option(
        None, "hidden channels of decoder feed-forward networks (default: the encoder's)"
    )
    decoder_layers: Optional[int] = option(None, "decoder layers (default: the encoder's)")
    decoder_attention_heads: Optional[int] = option(
        None, "decoder attention heads (default: the encoder's)"
    )
    share_embeddings: str = option(
        "all",
        "one matrix (all), one for each side (decoder), or a third for the output (none)",
        ("all", "decoder", "none"),
    )
    max_source_positions: int = option(1024, "most tokens of a source")


@dataclass
class LanguageModelConfig(DecoderOptions):
    """Options of a language model."""

    symbol_embedding: str = option(
        "streams",
        "vectors of symbols: streams, one for each symbol; or, in baselines with one stream: fixed, "
        "a row for each name; canonical, a row for the first, second, ... symbol of a text; recency, "
        "a row for the symbol used last, last but one, ...",
        ("streams", "fixed", "canonical", "recency"),
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


def has_source(cfg: DecoderOptions) -> bool:
    """Whether these are the options of an encoder and a decoder, or of a language model."""
    return hasattr(cfg, "encoder_layers")


def check(cfg: DecoderOptions) -> None:
    """Refuses values that are unknown or contradict each other with a UserError that names the option
    to change. The options may be of either kind, or what fairseq makes of them."""

    def refuse(fault: bool, reason: str, options: str) -> None:
        if fault:
            raise UserError(reason, options)

    source, kind = has_source(cfg), cfg.symbol_embedding
    for known in fields(ModelConfig if source else LanguageModelConfig):
        choices, value = known.metadata["choices"], getattr(cfg, known.name)
        words = known.name.replace("_", " ")
        reason = f"the {words} {value!r} is none of {', '.join(choices)}"
        refuse(choices and value not in choices, reason, known.name)
    for name in ("dropout", "attention_dropout", "activation_dropout"):
        value = getattr(cfg, name)
        refuse(not 0 <= value < 1, f"{value} is not in [0, 1)", name)
    eps, fresh = cfg.layer_norm_eps, sum(fresh_numbers(cfg.fresh_symbols).values())
    refuse(not eps > 0, f"layer norms add {eps}, which must be positive", "layer_norm_eps")
    refuse(fresh > _MOST_FRESH, f"{fresh} fresh symbols are too many", "fresh_symbols")
    refuse(cfg.position_gaps < 0, f"{cfg.position_gaps} places cannot be spread", "position_gaps")
    names = ("encoder", "decoder") if source else ("decoder",)
    sides = {name: StackConfig.of(cfg, name) for name in names}
    for name, side in sides.items():
        refuse(side.num_layers < 1, f"the {name} has {side.num_layers} layers", f"{name}_layers")
    counts = any(side.positions not in ("tree", "none") for side in sides.values())
    listed = " ".join(["position_gaps", *(f"{name}_positions" for name in names)])
    reason = "gaps in positions need some that count tokens"
    refuse(cfg.position_gaps > 0 and not counts, reason, listed)
    decoder, one_stream = sides["decoder"], f"models of {kind} symbols have one stream"
    if kind != "streams":
        refuse(
            decoder.pattern.aggregated,
            f"{one_stream}, so the aggregated attentions of {cfg.stream_attention} have nothing to "
            f"aggregate; {'EP-DP-CP' if source else 'DP'} will do",
            "stream_attention",
        )
        places = "stream_places symbol_embedding"
        refuse(
            cfg.stream_places != "all", f"{one_stream} everywhere, not {cfg.stream_places}", places
        )
    if not source:
        few = fresh < 1 and kind != "fixed"
        refuse(few, f"texts hold symbols, of which {fresh} are too few", "fresh_symbols")
        return
    channels = sides["encoder"].embed_dim
    refuse(cfg.tree_depth < 0, f"a tree cannot be {cfg.tree_depth} operators deep", "tree_depth")
    refuse(
        cfg.share_embeddings == "all" and channels != decoder.embed_dim,
        f"one matrix cannot serve an encoder of {channels} and a decoder of {decoder.embed_dim} "
        "channels",
        "share_embeddings decoder_embed_dim",
    )
    if kind != "streams":
        refuse(fresh > 0, f"{one_stream}, no fresh symbols", "fresh_symbols symbol_embedding")
    if kind == "random":
        refuse(
            cfg.share_embeddings != "all",
            "random codes must be the same in encoder and decoder, so both share one matrix",
            "share_embeddings",
        )
        refuse(
            not 0 < cfg.symbol_code_dim < channels,
            f"codes must have 1 to {channels - 1} channels, not {cfg.symbol_code_dim}",
            "symbol_code_dim",
        )


class AttentionPattern(Tuple[str, ...]):
    """The paper's letters for which attentions a model has (section 5.5): E(ncoder), D(ecoder) or
    C(ross) attention, P(er stream) or A(ggregated)."""

    @property
    def cross(self) -> Tuple[str, ...]:
        """The cross-attentions of each decoder layer in their order, ``"CP"`` (to the encoder's
        stream of the same symbol) or ``"CA"`` (to its aggregated view)."""
        return tuple(part for part in self if part in ("CP", "CA"))

    @property
    def aggregated(self) -> bool:
        """Whether any attention sees streams together (EA, DA or CA)."""
        return not {"EA", "DA", "CA"}.isdisjoint(self)

    @classmethod
    def parse(cls, text: str, source: bool = True) -> "AttentionPattern":
        """Reads a pattern such as ``EP-DP-EA-DA-CP``; only the order of CP and CA counts. Without a
        source there are ``DP`` and ``DA`` alone. A UserError if a part is unknown or repeated, or
        the decoder of a source has neither CP nor CA."""
        found = cls(text.split("-"))
        known = _LETTERS if source else ("DP", "DA")
        wrong = [part for part in found if part not in known or found.count(part) > 1]
        if wrong or source and not found.cross:
            reason = f"{wrong[0]!r} is unknown or repeated" if wrong else "none sees the source"
            raise UserError(
                f"the attentions {text!r}: {reason}; join some of {' '.join(known)} with hyphens"
                + ", CP or CA among them" * source,
                "stream_attention",
            )
        return found


@dataclass(frozen=True)
class StackConfig:
    """The layers, positions and norms of one side, encoder or decoder.

    ``view_dim`` are the channels of the encoder's output, which cross-attentions read; None without
    an encoder. ``final_norm`` is a layer norm of the last layer's output; ``options`` are all others.
    """

    embed_dim: int
    view_dim: Optional[int]
    ffn_dim: int
    num_heads: int
    num_layers: int
    pattern: AttentionPattern
    positions: str
    max_positions: int
    normalize_before: bool
    aggregated_normalize_before: bool
    final_norm: bool
    options: DecoderOptions

    @classmethod
    def of(cls, cfg: DecoderOptions, side: str) -> "StackConfig":
        """The ``encoder`` or the ``decoder``; a UserError if channels do not divide into heads, or
        the pattern of attentions is none."""

        def size(name: str) -> int:
            own = getattr(cfg, f"{side}_{name}")
            return getattr(cfg, f"encoder_{name}") if own is None else own

        dim, heads, positions = size("embed_dim"), size("attention_heads"), size("positions")
        rotary, source = positions == "rope", side == "encoder"
        if heads < 1 or dim < 1 or dim % (2 * heads if rotary else heads):
            even = " with an even number of channels, as rotary positions need" * rotary
            raise UserError(
                f"{dim} channels do not divide into {heads} heads{even}",
                f"{side}_embed_dim {side}_attention_heads",
            )
        before, view_dim = size("normalize_before"), getattr(cfg, "encoder_embed_dim", None)
        return cls(
            embed_dim=dim,
            view_dim=view_dim,
            ffn_dim=size("ffn_embed_dim"),
            num_heads=heads,
            num_layers=size("layers"),
            pattern=AttentionPattern.parse(cfg.stream_attention, view_dim is not None),
            positions=positions,
            max_positions=cfg.max_source_positions if source else cfg.max_target_positions,
            normalize_before=before,
            aggregated_normalize_before=before or cfg.aggregated_normalize_before,
            final_norm=before and not getattr(cfg, f"no_{side}_final_norm"),
            options=cfg,
        )

    def norm(self, present: bool = True) -> nn.Module:
        """A layer norm over the channels, or nothing in its place."""
        eps = self.options.layer_norm_eps
        return nn.LayerNorm(self.embed_dim, eps=eps) if present else nn.Identity()
