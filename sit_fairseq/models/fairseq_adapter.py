"""The model as fairseq knows it: its options, its named architectures, and ``from_pretrained``.

fairseq imports this file of a ``--user-dir``. It stands above the task, on top of the model.
"""

import argparse
import os
from dataclasses import dataclass, field
from typing import Any, Dict, Optional, Tuple

from fairseq.dataclass import FairseqDataclass
from fairseq.models import (
    ARCH_MODEL_REGISTRY,
    BaseFairseqModel,
    register_model,
    register_model_architecture,
)
from fairseq.tasks import TASK_REGISTRY
from omegaconf import II
from torch import Tensor

import sit_fairseq.tasks.stream_translation  # noqa: F401  which registers the task
from sit_fairseq.domains.by_name import arity_of
from sit_fairseq.errors import UserError
from sit_fairseq.model import Model
from sit_fairseq.models.baselines import make_vocabulary
from sit_fairseq.models.config import ModelConfig, check
from sit_fairseq.models.context import EncodedSource
from sit_fairseq.models.loading import KIND
from sit_fairseq.models.transformer import SymbolInvariantTransformer, log_probabilities
from sit_fairseq.storage.files import Place
from sit_fairseq.symbols.saved_tokens import saved_vocabulary
from sit_fairseq.tasks.stream_dictionary import StreamDictionary


def _as(option: str, name: str) -> Any:
    """An option whose default is the value of another one, which fairseq looks up."""
    return field(default=II(option), metadata=ModelConfig.__dataclass_fields__[name].metadata)


@dataclass
class SymbolInvariantTransformerConfig(FairseqDataclass, ModelConfig):
    """Options of the model for fairseq's command lines."""

    decoder_embed_dim: int = _as("model.encoder_embed_dim", "decoder_embed_dim")
    decoder_ffn_embed_dim: int = _as("model.encoder_ffn_embed_dim", "decoder_ffn_embed_dim")
    decoder_layers: int = _as("model.encoder_layers", "decoder_layers")
    decoder_attention_heads: int = _as("model.encoder_attention_heads", "decoder_attention_heads")
    max_source_positions: int = II("task.max_source_positions")
    max_target_positions: int = II("task.max_target_positions")
    fresh_names: Optional[str] = II("task.fresh_names")  # those of training, kept with the model


class FairseqParts:
    """A part of a model, beside a class of fairseq's."""

    task_name: str  # of the task that the model is for

    @classmethod
    def add_args(cls, parser: Any) -> None:
        """As in fairseq; a UserError if a command line names the model without a task for it, whose
        options fairseq would not know."""
        words = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
        words.add_argument("--task")
        words.add_argument("--arch", "-a")
        given, _ = words.parse_known_args()
        task = TASK_REGISTRY.get(given.task, object)
        ours = ARCH_MODEL_REGISTRY.get(given.arch) is cls  # not so where a program calls the parser
        if ours and not issubclass(task, TASK_REGISTRY[cls.task_name]):
            raise cls.wrong_task()
        super().add_args(parser)

    @classmethod
    def wrong_task(cls) -> UserError:
        """The error for a task that the model is not for."""
        return UserError(
            f"models with symbols need a task that knows them; pass --task {cls.task_name}"
        )

    @classmethod
    def from_pretrained(
        cls,
        model_name_or_path: Place,
        checkpoint_file: Place = "model.pt",
        data_name_or_path: Place = ".",
        **options: Any,
    ) -> Model:
        """As :meth:`Model.load`, whose ``options`` these are; the other arguments are called as in
        fairseq.

        Args:
            model_name_or_path: the file of the model, or its folder.
            checkpoint_file: the file in the folder, or several that vote, ``a.pt:b.pt``.
            data_name_or_path: not needed, as the model knows its tokens.
        """
        folder = os.fspath(model_name_or_path)
        if os.path.isfile(folder) or checkpoint_file == "model.pt":
            return Model.load(folder, **options)
        names = os.fspath(checkpoint_file).split(os.pathsep)
        return Model.load(*(os.path.join(folder, name) for name in names), **options)

    def get_normalized_probs(
        self, net_output: Tuple[Tensor, Any], log_probs: bool, sample: Any = None
    ) -> Tensor:
        """(B*K, T, V) probabilities over canonical ids, float32 or float64."""
        found = log_probabilities(net_output[0])
        return found if log_probs else found.exp()

    def load_state_dict(self, state_dict: Dict[str, Any], *args: Any, **kwargs: Any):
        """As in fairseq; a UserError if the weights are of a model without symbols, or do not fit."""
        if saved_vocabulary(state_dict) is None:
            raise UserError(
                "the checkpoint is of a plain transformer, which knows no symbols; sit convert makes a "
                "model of it that does",
                "restore_file finetune_from_model save_dir",
            )
        try:
            return super().load_state_dict(state_dict, *args, **kwargs)
        except RuntimeError as error:
            fault = str(error).split("\n")[1].strip()
            raise UserError(
                f"the weights of the checkpoint are not those of the model that is built ({fault}); "
                "name another file, or train with the options it was trained with"
            )


@register_model(KIND, dataclass=SymbolInvariantTransformerConfig)
class SymbolInvariantTransformerModel(FairseqParts, SymbolInvariantTransformer, BaseFairseqModel):
    """:class:`SymbolInvariantTransformer` with the methods that fairseq calls."""

    task_name = "stream_translation"

    @classmethod
    def build_model(cls, cfg: SymbolInvariantTransformerConfig, task):
        """Builds the model for the dictionary of a ``stream_translation`` task."""
        check(cfg)
        if not isinstance(task.source_dictionary, StreamDictionary):
            raise cls.wrong_task()
        names = getattr(task.cfg, "fresh_names", None) or cfg.fresh_names
        arity = getattr(task, "arity", arity_of(None))
        vocabulary = make_vocabulary(cfg, task.source_dictionary, arity, names)
        return cls(cfg, vocabulary, task.cfg.seed)

    def forward(
        self,
        src_tokens: Tensor,
        src_lengths: Tensor,
        prev_output_tokens: Tensor,
        src_places: Optional[Tensor] = None,
        target_places: Optional[Tensor] = None,
        **unused: Any,
    ) -> Tuple[Tensor, Dict[str, Any]]:
        """Computes logits for all target positions (teacher forcing).

        Args:
            src_tokens: (B, U) dictionary indices.
            src_lengths: not needed.
            prev_output_tokens: (B, T) dictionary indices of the shifted target.
            src_places, target_places: (B, U) and (B, T) their positions; None for 0, 1, ...

        Returns:
            (B, T, V_n + S + R) logits over canonical ids, and ``slots``, the
            :class:`~sit_fairseq.symbols.slots.Slots` of the sentences.
        """
        return self.net_output(
            prev_output_tokens, self.encode(src_tokens, src_places), target_places
        )

    def net_output(
        self, prev_output_tokens: Tensor, source: EncodedSource, places: Optional[Tensor] = None
    ) -> Tuple[Tensor, Dict[str, Any]]:
        """The result of :meth:`forward`, for K targets of each encoded source."""
        # fairseq's scorer insists on an "attn" entry.
        extra = {"attn": [None], "slots": source.hypothesis_slots}
        return self.decode(prev_output_tokens, source, places), extra

    def get_targets(self, sample: Dict[str, Any], net_output: Tuple[Tensor, Dict]) -> Tensor:
        """The (B, T) target in canonical ids, as criterions compare it with the output."""
        return net_output[1]["slots"].targets(sample["target"])

    def max_positions(self) -> Tuple[int, int]:
        """The longest source and target in tokens."""
        return self.encoder.cfg.max_positions, self.decoder.cfg.max_positions


def architecture(
    name: str, *sizes: int, model: str = KIND, side: str = "encoder", **defaults: Any
) -> None:
    """Registers an architecture: other defaults for the options not given by the user; ``sizes`` are
    the channels, hidden channels, layers and heads of a side.

    fairseq applies these on its argparse commands only; hydra configurations name the values themselves.
    """
    options = ("embed_dim", "ffn_embed_dim", "layers", "attention_heads")
    defaults.update((f"{side}_{option}", size) for option, size in zip(options, sizes))

    def set_defaults(cfg: Any) -> None:
        for option, value in defaults.items():
            if getattr(cfg, option, None) is None:
                setattr(cfg, option, value)

    register_model_architecture(model, f"{model}_{name}")(set_defaults)


# Table "Hyperparameter choices", rows of the proposed method; layer norms as in the published code.
_PAPER = dict(layer_norm_eps=1e-6)
architecture("prop", **_PAPER)
architecture("ltl", 64, 1024, 8, 4, **_PAPER, stream_attention="EP-DP-EA-CP")
architecture("copy", 128, 128, 6, 8, **_PAPER, encoder_positions="rope")
# The same table, rows of the baselines, scaled as in the commands published with them
# (Isik et al. 2025). Another baseline is chosen by --symbol-embedding.
_BASELINE = dict(**_PAPER, symbol_embedding="fixed", stream_attention="EP-DP-CP")
_BASELINE.update(scale_cosine_embedding=True)
architecture("prop_baseline", 132, 512, 6, 6, **_BASELINE)
# The code's channels were published for this task only.
architecture("ltl_baseline", 128, 1024, 8, 8, **_BASELINE, symbol_code_dim=5)
architecture("copy_baseline", 128, 128, 6, 8, **_BASELINE, encoder_positions="rope")
# Small enough to learn on two CPU cores in minutes.
architecture("tiny", 64, 256, 2, 4)
