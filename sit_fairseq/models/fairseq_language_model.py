"""The language model as fairseq knows it: its options and named architectures.

fairseq imports this file of a ``--user-dir``. It stands above the task, on top of the model.
"""

from dataclasses import dataclass
from typing import Any, Dict, Optional, Tuple

from fairseq.dataclass import FairseqDataclass
from fairseq.models import BaseFairseqModel, register_model
from omegaconf import II
from torch import Tensor

from sit_fairseq.models.baselines import make_vocabulary
from sit_fairseq.models.config import LanguageModelConfig, check
from sit_fairseq.models.fairseq_adapter import FairseqParts, architecture
from sit_fairseq.models.language_model import SymbolInvariantLanguageModel
from sit_fairseq.models.loading import TEXT_KIND
from sit_fairseq.tasks.symbol_language_modeling import SymbolLanguageModelingTask


@dataclass
class SymbolInvariantLanguageModelConfig(FairseqDataclass, LanguageModelConfig):
    """Options of the model for fairseq's command lines."""

    max_target_positions: int = II("task.max_target_positions")
    fresh_names: Optional[str] = II("task.fresh_names")  # those of training, kept with the model


@register_model(TEXT_KIND, dataclass=SymbolInvariantLanguageModelConfig)
class SymbolInvariantTransformerLanguageModel(
    FairseqParts, SymbolInvariantLanguageModel, BaseFairseqModel
):
    """:class:`SymbolInvariantLanguageModel` with the methods that fairseq calls."""

    task_name = "symbol_language_modeling"
    supported_targets = {"future"}

    @classmethod
    def build_model(cls, cfg: SymbolInvariantLanguageModelConfig, task):
        """Builds the model for the dictionary of a ``symbol_language_modeling`` task."""
        check(cfg)
        if not isinstance(task, SymbolLanguageModelingTask):
            raise cls.wrong_task()
        names = task.cfg.fresh_names or cfg.fresh_names
        return cls(cfg, make_vocabulary(cfg, task.source_dictionary, fresh_names=names))

    def forward(
        self,
        src_tokens: Tensor,
        src_lengths: Optional[Tensor] = None,
        src_places: Optional[Tensor] = None,
        **unused: Any,
    ) -> Tuple[Tensor, Dict[str, Any]]:
        """(B, T, V_n + R) logits of the token after each of (B, T) dictionary indices of texts,
        each after ``</s>``, at (B, T) places, None for 0, 1, ...; and nothing else. Lengths are not
        needed."""
        return super().forward(src_tokens, src_places), {}

    def get_targets(self, sample: Dict[str, Any], net_output: Tuple[Tensor, Dict]) -> Tensor:
        """The (B, T) target in canonical ids, as criterions compare it with the output."""
        return self.targets(sample["net_input"]["src_tokens"], sample["target"])

    def max_positions(self) -> int:
        """The longest text in tokens."""
        return self.decoder.cfg.max_positions


# Small enough to learn on two CPU cores in minutes.
architecture("tiny", 64, 256, 2, 4, model=TEXT_KIND, side="decoder")
