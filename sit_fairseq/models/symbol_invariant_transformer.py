"""The Symbol-Invariant Transformer and its named architectures."""

import os
from dataclasses import dataclass, field
from typing import Any, Dict, List, Tuple

from fairseq import hub_utils, utils
from fairseq.dataclass import ChoiceEnum, FairseqDataclass
from fairseq.models import (
    ARCH_MODEL_NAME_REGISTRY,
    FairseqEncoderDecoderModel,
    register_model,
    register_model_architecture,
)
from omegaconf import II, DictConfig, open_dict
from torch import Tensor

from sit_fairseq.errors import UserError
from sit_fairseq.hub import StreamHubInterface
from sit_fairseq.hub_folder import weights_file
from sit_fairseq.models.stack_config import StackConfig
from sit_fairseq.models.stream_decoder import StreamDecoder
from sit_fairseq.models.stream_encoder import StreamEncoder
from sit_fairseq.models.symbol_embeddings import SYMBOL_EMBEDDINGS, symbol_embedding
from sit_fairseq.modules.attention_pattern import AttentionPattern
from sit_fairseq.modules.stream_layers import LayerConfig
from sit_fairseq.symbols.stream_vocabulary import StreamVocabulary

_NAME = "symbol_invariant_transformer"


@dataclass
class SymbolInvariantTransformerConfig(FairseqDataclass):
    """Options of the model; the defaults are the paper's for propositional logic, all but
    ``layer_norm_eps``, which is fairseq's."""

    symbol_embedding: ChoiceEnum(list(SYMBOL_EMBEDDINGS)) = field(
        default="streams",
        metadata={
            "help": "how symbols get their vectors: streams, one for each symbol; or, in baselines "
            "with one stream per sentence, fixed (a learnt row for each name), canonical (for the "
            "first, second, ... symbol of a sentence), random (a shared row and a random code)"
        },
    )
    symbol_code_dim: int = field(
        default=8,
        metadata={
            "help": "channels of the codes of --symbol-embedding random: they tell 2 to the power "
            "of that many symbols apart"
        },
    )
    fresh_symbols: int = field(
        default=0,
        metadata={
            "help": "most symbols that a target may hold and its source does not; answers call "
            "them by --fresh-names"
        },
    )
    stream_attention: str = field(
        default="EP-DP-EA-DA-CP",
        metadata={
            "help": "attentions of the model in the paper's letters, E(ncoder), D(ecoder) or "
            "C(ross), P(er stream) or A(ggregated); CP and CA are applied in the given order"
        },
    )
    encoder_embed_dim: int = field(
        default=96, metadata={"help": "channels of the encoder and its embedding"}
    )
    encoder_ffn_embed_dim: int = field(
        default=768, metadata={"help": "hidden channels of the encoder's feed-forward network"}
    )
    encoder_layers: int = field(default=6, metadata={"help": "encoder layers"})
    encoder_attention_heads: int = field(default=6, metadata={"help": "encoder attention heads"})
    encoder_normalize_before: bool = field(
        default=False, metadata={"help": "apply layer norm before each encoder sub-layer"}
    )
    encoder_positions: ChoiceEnum(["tree", "rope", "sinusoidal", "learned", "none"]) = field(
        default="tree",
        metadata={
            "help": "tree positions, for formulas in prefix notation; rotary ones; or those of "
            "fairseq's transformer"
        },
    )
    tree_depth: int = field(
        default=0,
        metadata={
            "help": "deepest formula that tree positions can hold; 0 for half the embedding "
            "dimension, a larger depth is projected to it by a learned matrix"
        },
    )
    no_encoder_final_norm: bool = field(
        default=False,
        metadata={"help": "no layer norm after the last encoder layer of a pre-norm model"},
    )
    decoder_embed_dim: int = field(
        default=II("model.encoder_embed_dim"),
        metadata={"help": "channels of the decoder and its embedding"},
    )
    decoder_ffn_embed_dim: int = field(
        default=II("model.encoder_ffn_embed_dim"),
        metadata={"help": "hidden channels of the decoder's feed-forward network"},
    )
    decoder_layers: int = field(
        default=II("model.encoder_layers"), metadata={"help": "decoder layers"}
    )
    decoder_attention_heads: int = field(
        default=II("model.encoder_attention_heads"), metadata={"help": "decoder attention heads"}
    )
    decoder_normalize_before: bool = field(
        default=False, metadata={"help": "apply layer norm before each decoder sub-layer"}
    )
    decoder_positions: ChoiceEnum(["rope", "sinusoidal", "learned", "none"]) = field(
        default="rope",
        metadata={"help": "rotary positions, or those of fairseq's transformer"},
    )
    no_decoder_final_norm: bool = field(
        default=False,
        metadata={"help": "no layer norm after the last decoder layer of a pre-norm model"},
    )
    aggregated_normalize_before: bool = field(
        default=False,
        metadata={
            "help": "apply layer norm before aggregated self-attention also in a post-norm "
            "model: where its output is zero it then changes nothing"
        },
    )
    share_embeddings: ChoiceEnum(["all", "decoder", "none"]) = field(
        default="all",
        metadata={
            "help": "one matrix for all uses; one for the encoder and one for decoder and "
            "output; or three"
        },
    )
    no_scale_embedding: bool = field(
        default=False,
        metadata={
            "help": "under the linear head, do not multiply embeddings by the square root of "
            "their dimension"
        },
    )
    scale_cosine_embedding: bool = field(
        default=False,
        metadata={
            "help": "multiply embeddings by the square root of their dimension under the cosine "
            "head too, as the paper's baselines do"
        },
    )
    layernorm_embedding: bool = field(
        default=False, metadata={"help": "layer norm of embeddings with their positions"}
    )
    layer_norm_eps: float = field(
        default=1e-5,
        metadata={"help": "what layer norms add to the variance; the paper's models have 1e-6"},
    )
    output_head: ChoiceEnum(["cosine", "linear"]) = field(
        default="cosine",
        metadata={"help": "logits are scaled cosines (needed by adacos) or dot products"},
    )
    dropout: float = field(default=0.1, metadata={"help": "dropout of every sub-layer's output"})
    attention_dropout: float = field(default=0.0, metadata={"help": "dropout of attention weights"})
    activation_dropout: float = field(
        default=0.0, metadata={"help": "dropout inside the feed-forward network"}
    )
    activation_fn: ChoiceEnum(utils.get_available_activation_fns()) = field(
        default="relu", metadata={"help": "activation of the feed-forward network"}
    )
    max_source_positions: int = II("task.max_source_positions")
    max_target_positions: int = II("task.max_target_positions")


@register_model(_NAME, dataclass=SymbolInvariantTransformerConfig)
class SymbolInvariantTransformerModel(FairseqEncoderDecoderModel):
    """Encoder-decoder over parallel embedding streams (Isik & Li, ICML 2026).

    Equivariant under renaming of symbols: ``f(rename(x)) = rename(f(x))``.
    """

    encoder: StreamEncoder
    decoder: StreamDecoder

    @classmethod
    def build_model(cls, cfg: SymbolInvariantTransformerConfig, task):
        """Builds the model for the dictionary of a ``stream_translation`` task."""
        pattern = AttentionPattern.parse(cfg.stream_attention)
        sides = [_stack_config(cfg, side, pattern) for side in ("encoder", "decoder")]
        share = str(cfg.share_embeddings)
        if share == "all" and cfg.encoder_embed_dim != cfg.decoder_embed_dim:
            raise UserError(
                f"--encoder-embed-dim {cfg.encoder_embed_dim} and --decoder-embed-dim "
                f"{cfg.decoder_embed_dim} differ, so that one matrix cannot serve both; change "
                "one of them, or pass --share-embeddings decoder"
            )
        embedding = symbol_embedding(cfg, task, pattern)
        encoder = StreamEncoder(embedding(cfg.encoder_embed_dim), sides[0])
        own = encoder.embed_tokens if share == "all" else embedding(cfg.decoder_embed_dim)
        output = embedding(cfg.decoder_embed_dim) if share == "none" else None
        decoder = StreamDecoder(own, sides[1], output)
        return cls(encoder, decoder)

    @classmethod
    def from_pretrained(
        cls,
        model_name_or_path: str,
        checkpoint_file: str = "model.pt",
        data_name_or_path: str = ".",
        **kwargs: Any,
    ) -> StreamHubInterface:
        """Loads a model to use in Python; see fairseq, of whose interface it has a kind of its
        own. A folder of ``sit export --hub`` needs no other argument.

        Raises:
            UserError: there is no such folder or checkpoint, or it cannot be used.
        """
        # fairseq would fetch what is none, unpack it and remove it.
        if not os.path.isdir(model_name_or_path):
            raise UserError(
                f"{model_name_or_path} is no folder; name the one that holds the checkpoint"
            )
        if not data_name_or_path.startswith(".") and not os.path.isdir(data_name_or_path):
            raise UserError(f"{data_name_or_path} is no folder; name one of fairseq-preprocess")
        name = weights_file(model_name_or_path, checkpoint_file)
        for file in name.split(os.pathsep):
            if not os.path.isfile(os.path.join(model_name_or_path, file)):
                raise UserError(f"{model_name_or_path} has no {file}; name the checkpoint in it")
        loaded = hub_utils.from_pretrained(model_name_or_path, name, data_name_or_path, **kwargs)
        return StreamHubInterface(loaded["args"], loaded["task"], loaded["models"])

    @property
    def vocabulary(self) -> StreamVocabulary:
        """Base tokens and the pattern of symbols, with the maps to canonical ids."""
        return self.encoder.embed_tokens.vocabulary

    def forward(
        self, src_tokens: Tensor, src_lengths: Tensor, prev_output_tokens: Tensor, **unused: Any
    ) -> Tuple[Tensor, Dict[str, Any]]:
        """Teacher forcing.

        Args:
            src_tokens: (B, U) dictionary indices.
            src_lengths: (B,) lengths, not needed.
            prev_output_tokens: (B, T) dictionary indices of the shifted target.

        Returns:
            see :meth:`StreamDecoder.forward`; columns are canonical ids.
        """
        return self.decode(prev_output_tokens, self.encoder(src_tokens, src_lengths))

    def decode(
        self, prev_output_tokens: Tensor, encoder_out: Dict[str, List]
    ) -> Tuple[Tensor, Dict[str, Any]]:
        """Teacher forcing of an encoded batch, or of K targets for each of its sentences.

        Args:
            prev_output_tokens: (B*K, T) dictionary indices of the shifted targets.
            encoder_out: output of :class:`StreamEncoder`, reordered if K is more than 1.

        Returns:
            see :meth:`StreamDecoder.forward`; ``names`` are (B*K, S).
        """
        hypotheses = encoder_out["streams"][0].hypotheses
        names = encoder_out["names"][0].repeat_interleave(hypotheses, dim=0)
        canonical = self.vocabulary.encode(prev_output_tokens, names)
        logits, extra = self.decoder(canonical, encoder_out=encoder_out)
        return logits, {**extra, "names": names}

    def load_state_dict(self, state_dict, *args: Any, **kwargs: Any):
        """As in fairseq, but what does not fit is said in a sentence.

        Raises:
            UserError: naming the first weight that is missing or of another size.
        """
        try:
            return super().load_state_dict(state_dict, *args, **kwargs)
        except RuntimeError as error:
            _, *faults = str(error).split("\n")
            raise UserError(
                "the weights of the checkpoint are not those of the model that is built "
                f"({' '.join(faults[:1]).strip()}); name another file with --path, --restore-file "
                "or --finetune-from-model, or train with the options it was trained with"
            )

    def get_targets(self, sample: Dict[str, Any], net_output: Tuple[Tensor, Dict]) -> Tensor:
        """The (B, T) target in canonical ids, as criterions compare it with the output."""
        return self.vocabulary.targets(sample["target"], net_output[1]["names"])


def _stack_config(
    cfg: SymbolInvariantTransformerConfig, side: str, pattern: AttentionPattern
) -> StackConfig:
    dim, heads = cfg[f"{side}_embed_dim"], cfg[f"{side}_attention_heads"]
    positions = str(cfg[f"{side}_positions"])
    rotary = positions == "rope"
    if heads < 1 or dim < 1 or dim % (2 * heads if rotary else heads):
        raise UserError(
            f"{dim} channels do not divide into {heads} heads"
            f"{' with an even number of channels, as rotary positions need' if rotary else ''}; "
            f"change --{side}-embed-dim or --{side}-attention-heads"
        )
    if not cfg.layer_norm_eps > 0:
        raise UserError(f"--layer-norm-eps {cfg.layer_norm_eps} must be positive, such as 1e-5")
    if cfg.tree_depth < 0:
        raise UserError(f"--tree-depth {cfg.tree_depth} must be a number of operators, or 0")
    before = cfg[f"{side}_normalize_before"]
    layer = LayerConfig(
        embed_dim=dim,
        view_dim=cfg.encoder_embed_dim,
        ffn_dim=cfg[f"{side}_ffn_embed_dim"],
        num_heads=heads,
        rotary=rotary,
        dropout=cfg.dropout,
        attention_dropout=cfg.attention_dropout,
        activation_dropout=cfg.activation_dropout,
        activation=str(cfg.activation_fn),
        norm_eps=cfg.layer_norm_eps,
        normalize_before=before,
        aggregated_normalize_before=before or cfg.aggregated_normalize_before,
    )
    return StackConfig(
        layer,
        num_layers=cfg[f"{side}_layers"],
        pattern=pattern,
        positions=positions,
        max_positions=cfg[f"max_{'source' if side == 'encoder' else 'target'}_positions"],
        layernorm_embedding=cfg.layernorm_embedding,
        final_norm=before and not cfg[f"no_{side}_final_norm"],
        tree_depth=cfg.tree_depth,
    )


def add_newer_options(cfg: DictConfig) -> None:
    """Completes the model's options in a checkpoint that is older than some of them.

    Their defaults leave a model as it was, but fairseq would take those of the named
    architecture, which are for new trainings.

    Args:
        cfg: options of any model; of others they are left as they are.
    """
    if ARCH_MODEL_NAME_REGISTRY.get(cfg._name) == _NAME:
        with open_dict(cfg):
            for option, value in vars(SymbolInvariantTransformerConfig()).items():
                cfg.setdefault(option, value)


def _architecture(name: str, **defaults: Any) -> None:
    """Registers an architecture: other defaults for the options not given by the user.

    fairseq applies these on its argparse commands only; hydra configurations name the
    values themselves.
    """

    def set_defaults(cfg: Any) -> None:
        for option, value in defaults.items():
            if getattr(cfg, option, None) is None:
                setattr(cfg, option, value)

    register_model_architecture(_NAME, f"{_NAME}_{name}")(set_defaults)


# Table "Hyperparameter choices", rows of the proposed method; layer norms as in the
# published code.
_PAPER = dict(layer_norm_eps=1e-6)
_architecture("prop", **_PAPER)
_architecture(
    "ltl",
    **_PAPER,
    stream_attention="EP-DP-EA-CP",
    encoder_embed_dim=64,
    encoder_ffn_embed_dim=1024,
    encoder_layers=8,
    encoder_attention_heads=4,
)
_architecture(
    "copy",
    **_PAPER,
    encoder_embed_dim=128,
    encoder_ffn_embed_dim=128,
    encoder_layers=6,
    encoder_attention_heads=8,
    encoder_positions="rope",
)
# The same table, rows of the baselines, scaled as in the commands published with them
# (Isik et al. 2025). Another baseline is chosen by --symbol-embedding.
_BASELINE = dict(
    **_PAPER,
    symbol_embedding="fixed",
    stream_attention="EP-DP-CP",
    scale_cosine_embedding=True,
)
_architecture(
    "prop_baseline",
    **_BASELINE,
    encoder_embed_dim=132,
    encoder_ffn_embed_dim=512,
    encoder_layers=6,
    encoder_attention_heads=6,
)
_architecture(
    "ltl_baseline",
    **_BASELINE,
    symbol_code_dim=5,  # published for this task only
    encoder_embed_dim=128,
    encoder_ffn_embed_dim=1024,
    encoder_layers=8,
    encoder_attention_heads=8,
)
_architecture(
    "copy_baseline",
    **_BASELINE,
    encoder_embed_dim=128,
    encoder_ffn_embed_dim=128,
    encoder_layers=6,
    encoder_attention_heads=8,
    encoder_positions="rope",
)
# Small enough to learn on two CPU cores in minutes.
_architecture(
    "tiny",
    encoder_embed_dim=64,
    encoder_ffn_embed_dim=256,
    encoder_layers=2,
    encoder_attention_heads=4,
)
