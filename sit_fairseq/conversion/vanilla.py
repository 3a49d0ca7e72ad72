"""fairseq's own ``transformer`` as a source of the conversion."""

import re
from argparse import Namespace
from types import SimpleNamespace
from typing import Any, Dict, List, Optional

import torch
from fairseq import utils
from fairseq.data import Dictionary
from fairseq.models import FairseqEncoder, FairseqEncoderDecoderModel, FairseqIncrementalDecoder
from fairseq.models.transformer import TransformerConfig, TransformerModelBase, base_architecture
from torch import Tensor

from sit_fairseq.conversion import reading
from sit_fairseq.conversion.original import Original, Table
from sit_fairseq.conversion.refusals import refuse_architecture, refuse_options, refuse_weights
from sit_fairseq.errors import UserError
from sit_fairseq.modules.stream_vocabulary import StreamVocabulary

# What fairseq 0.12.2 saves and never reads: a copy of each encoder layer's weights for a
# fast path, which it overwrites on loading, and the dtype of sinusoidal positions.
_REDUNDANT = re.compile(
    r"encoder\.layers\.\d+\.(in_proj|out_proj|fc1|fc2)_(weight|bias)"
    r"|(encoder|decoder)\.embed_positions\.(_float_tensor|weights)"
)


def read_vanilla(
    path: str, state: Dict[str, Any], *, data: Optional[str] = None, ema: bool = False
) -> Original:
    """Describes a checkpoint of fairseq's ``transformer``.

    Args:
        path: its name, for messages.
        state: its contents, see :func:`reading.read_state`.
        data: the directory of its dictionaries; None for the one recorded in it.
        ema: take the moving average of the weights.

    Raises:
        UserError: if it cannot be converted, or a dictionary is missing.
    """
    options = reading.model_options(state)
    refuse_architecture(path, options)
    weights = reading.weights(state, path, ema)
    refuse_weights(path, weights)
    cfg = _config(path, options)
    refuse_options(path, cfg, options)
    _check_numbers(path, cfg)
    task = reading.task_options(state)
    dictionaries = reading.read_dictionaries(task, data)
    if _merges(cfg) and dictionaries.source != dictionaries.target:
        raise UserError(
            f"{path} was trained with --merge-src-tgt-embed on two dictionaries, which it merged "
            "in memory; train on data with --joined-dictionary"
        )
    _check_sizes(path, weights, dictionaries)
    model = _build(path, cfg, weights, dictionaries)
    tensors = {n: t for n, t in model.state_dict().items() if not _REDUNDANT.fullmatch(n)}
    words = {
        "encoder.embed_tokens.weight": dictionaries.source,
        "decoder.embed_tokens.weight": dictionaries.target,
        "decoder.output_projection.weight": dictionaries.target,
    }
    return Original(
        model_options=_stream_options(cfg, model),
        task_options={
            name: task[name]
            for name in ("left_pad_source", "left_pad_target", "truncate_source")
            if isinstance(task.get(name), bool)
        },
        dictionaries=dictionaries,
        tensors=tensors,
        tables={name: Table(name, dictionary) for name, dictionary in words.items()},
        parts=_parts,
        unused=[name for name in weights if _REDUNDANT.fullmatch(name)],
        in_slot_space=lambda vocabulary, actual: _SlotSpaceTransformer(
            model, dictionaries, vocabulary, actual
        ),
    )


def _config(path: str, options: Dict[str, Any]) -> TransformerConfig:
    """The options as fairseq itself reads them when it builds the model."""
    args = Namespace(**options)
    try:
        base_architecture(args)
        for side in ("encoder", "decoder", "quant_noise"):
            if options.get(side) is not None:
                # Trained by fairseq-hydra-train: the flat options are not the model's, but
                # defaults that the architecture wrote beside its nested ones.
                for name in list(vars(args)):
                    if name.startswith(f"{side}_"):
                        delattr(args, name)
        return TransformerConfig.from_namespace(args)
    except (AttributeError, TypeError, ValueError) as error:
        raise UserError(f"{path} holds options that fairseq's transformer cannot read: {error}")


def _merges(cfg: TransformerConfig) -> bool:
    return bool(utils.safe_getattr(cfg, "merge_src_tgt_embed", False))  # not in 0.12.2


def _check_numbers(path: str, cfg: TransformerConfig) -> None:
    # The options come from a file that nobody vouches for.
    whole = [f"max_{side}_positions" for side in ("source", "target")]
    for side in ("encoder", "decoder"):
        whole += [
            f"{side}_{n}" for n in ("embed_dim", "ffn_embed_dim", "layers", "attention_heads")
        ]
    for name in whole:
        value = getattr(cfg, name)
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise UserError(f"{path} holds {name} = {value!r}, which is no positive whole number")
    for name in ("dropout", "attention_dropout", "activation_dropout", "relu_dropout"):
        value = getattr(cfg, name)
        if not isinstance(value, (int, float)) or not 0 <= value < 1:
            raise UserError(f"{path} holds {name} = {value!r}, which is no dropout rate")


def _check_sizes(path: str, weights: Dict[str, Tensor], dictionaries: reading.Dictionaries) -> None:
    for side, dictionary in (("encoder", dictionaries.source), ("decoder", dictionaries.target)):
        table = weights.get(f"{side}.embed_tokens.weight")
        if table is not None and table.size(0) != len(dictionary):
            raise UserError(
                f"{path} has {table.size(0)} rows in {side}.embed_tokens.weight, but the "
                f"dictionary in {dictionaries.data} has {len(dictionary)} tokens; name the "
                "directory that the model was trained with by --data"
            )


def _build(
    path: str,
    cfg: TransformerConfig,
    weights: Dict[str, Tensor],
    dictionaries: reading.Dictionaries,
) -> TransformerModelBase:
    """The model with its weights, loaded as fairseq loads it, old files included."""
    cfg.encoder.embed_path = cfg.decoder.embed_path = None  # only initial values
    cfg.checkpoint_activations = cfg.offload_activations = False
    task = SimpleNamespace(
        source_dictionary=dictionaries.source, target_dictionary=dictionaries.target
    )
    try:
        model = TransformerModelBase.build_model(cfg, task)
        kept = {name: t for name, t in weights.items() if not _REDUNDANT.fullmatch(name)}
        model.load_state_dict(kept, strict=True)
    except (AssertionError, KeyError, RuntimeError, TypeError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise UserError(f"the weights of {path} do not fit its options: {reason}")
    return model.eval()


def _stream_options(cfg: TransformerConfig, model: TransformerModelBase) -> Dict[str, Any]:
    """The options under which one stream is computed as the model computes a sentence."""
    if cfg.share_all_embeddings or _merges(cfg):
        share = "all"
    else:
        share = "decoder" if cfg.share_decoder_input_output_embed else "none"
    options = {
        "output_head": "linear",
        "share_embeddings": share,
        "no_scale_embedding": bool(cfg.no_scale_embedding),
        "layernorm_embedding": bool(cfg.layernorm_embedding),
        "activation_fn": cfg.activation_fn,
        "dropout": cfg.dropout,
        "attention_dropout": cfg.attention_dropout,
        "activation_dropout": cfg.activation_dropout or cfg.relu_dropout,
        "max_source_positions": cfg.max_source_positions,
        "max_target_positions": cfg.max_target_positions,
    }
    for side in ("encoder", "decoder"):
        learned = getattr(cfg, side).learned_pos
        kind = "learned" if learned else "sinusoidal"
        before = bool(getattr(cfg, side).normalize_before)
        options[f"{side}_positions"] = "none" if cfg.no_token_positional_embeddings else kind
        options[f"{side}_normalize_before"] = before
        # Old files lack the norm whatever the options say.
        options[f"no_{side}_final_norm"] = before and getattr(model, side).layer_norm is None
        for name in ("embed_dim", "ffn_embed_dim", "layers", "attention_heads"):
            options[f"{side}_{name}"] = getattr(cfg, f"{side}_{name}")
    return options


def _parts(name: str) -> List[str]:
    """The tensors of a vanilla model that a tensor of a stream model consists of."""
    name = re.sub(r"\.(encoder_attn|encoder_attn_layer_norm)\.0\.", r".\1.", name)
    for joined in ("qkv", "kv"):
        if f".{joined}_proj." in name:
            return [name.replace(f".{joined}_proj.", f".{part}_proj.") for part in joined]
    return [name]


class _SlotSpaceTransformer(FairseqEncoderDecoderModel):
    """A vanilla model over the canonical ids of sentences whose only symbol is ``actual``.

    Its columns are the base tokens and that one symbol: whatever else the model could
    produce is left out before probabilities are normalised, and so are base tokens that
    its target dictionary lacks.
    """

    def __init__(
        self,
        model: TransformerModelBase,
        dictionaries: reading.Dictionaries,
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
        self.encoder = encoder
        self.vocabulary = vocabulary
        self.register_buffer("indices", _indices(dictionary, vocabulary, actual))

    def forward(self, src_tokens: Tensor, src_lengths: Any = None, **unused):
        return self.encoder(self.indices[self.vocabulary.canonicalise(src_tokens)[0]])

    def reorder_encoder_out(self, encoder_out, new_order: Tensor):
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

    def max_positions(self) -> int:
        return self.decoder.max_positions()
