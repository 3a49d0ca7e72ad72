"""AdamW that spares biases and norm gains from decay."""

import ast
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Tuple

import torch
from fairseq.dataclass import FairseqDataclass
from fairseq.optim import FairseqOptimizer, register_optimizer
from omegaconf import II

from sit_fairseq.errors import UserError
from sit_fairseq.training.parameter_groups import groups_by_decay, override


@dataclass
class AdamWConfig(FairseqDataclass):
    """Options of ``adamw`` and ``muon``; the defaults are the paper's but for its decay."""

    adam_betas: Any = field(
        default="(0.9, 0.95)",
        metadata={"help": "decay of AdamW's averages of gradients and of their squares"},
    )
    adam_eps: float = field(default=1e-8, metadata={"help": "AdamW's term for stability"})
    weight_decay: float = field(
        default=0.0,
        metadata={"help": "decay of matrices; biases, norm gains and scales have none"},
    )
    lr: List[float] = II("optimization.lr")


class GroupedOptimizer(FairseqOptimizer):
    """What ``adamw`` and ``muon`` share: their options, and groups that differ in decay."""

    @property
    def optimizer_config(self) -> Dict[str, Any]:
        """Options of AdamW, as ``torch.optim`` takes them."""
        return {
            "lr": self.cfg.lr[0],
            "betas": _betas(self.cfg.adam_betas),
            "eps": self.cfg.adam_eps,
        }

    def load_state_dict(
        self, state_dict: Dict[str, Any], optimizer_overrides: Optional[Dict[str, Any]] = None
    ) -> None:
        """As in fairseq, but ``--optimizer-overrides`` lets nothing decay that should not."""
        super().load_state_dict(state_dict)
        override(self.param_groups, optimizer_overrides or {})


@register_optimizer("adamw", dataclass=AdamWConfig)
class FairseqAdamW(GroupedOptimizer):
    """``torch.optim.AdamW``; fairseq's ``adam`` lets biases and norm gains decay too.

    Args:
        cfg: the options.
        params: all parameters to train.
    """

    def __init__(self, cfg: AdamWConfig, params: List[torch.nn.Parameter]) -> None:
        super().__init__(cfg)
        groups = groups_by_decay(params, cfg.weight_decay)
        self._optimizer = torch.optim.AdamW(groups, **self.optimizer_config)


def _betas(text: Any) -> Tuple[float, float]:
    """Reads ``--adam-betas``: a text on the command line, perhaps a list under hydra."""
    try:
        first, second = ast.literal_eval(text) if isinstance(text, str) else text
        betas = float(first), float(second)
    except (SyntaxError, TypeError, ValueError):
        betas = (-1.0, -1.0)
    if not all(0.0 <= beta < 1.0 for beta in betas):
        raise UserError(
            f"--adam-betas {text} must be two numbers from 0 to less than 1, as in '(0.9, 0.95)'"
        )
    return betas
