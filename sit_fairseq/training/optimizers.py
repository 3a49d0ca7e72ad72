"""fairseq's names for AdamW, which spares biases and norm gains from decay, and for Muon."""

import ast
from dataclasses import dataclass
from typing import Any, Dict, List, Optional

import torch
from fairseq.dataclass import FairseqDataclass
from fairseq.optim import FairseqOptimizer, register_optimizer
from omegaconf import II
from torch import nn

from sit_fairseq.errors import UserError
from sit_fairseq.models.config import option
from sit_fairseq.training.muon import MuonAndAdamW, groups_by_decay


@dataclass
class AdamWConfig(FairseqDataclass):
    """Options of ``adamw`` and ``muon``; the defaults are the paper's but for its decay."""

    adam_betas: Any = option(
        "(0.9, 0.95)", "decay of AdamW's averages of gradients and of their squares"
    )
    adam_eps: float = option(1e-8, "AdamW's term for stability")
    weight_decay: float = option(0.0, "decay of matrices; biases, norm gains and scales have none")
    lr: List[float] = II("optimization.lr")


@register_optimizer("adamw", dataclass=AdamWConfig)
class FairseqAdamW(FairseqOptimizer):
    """``torch.optim.AdamW``; fairseq's ``adam`` lets biases and norm gains decay too."""

    def __init__(self, cfg: AdamWConfig, params: List[nn.Parameter]) -> None:
        super().__init__(cfg)
        self._optimizer = self._build(params)

    def _build(self, params: List[nn.Parameter]) -> torch.optim.Optimizer:
        groups = groups_by_decay(params, self.cfg.weight_decay)
        return torch.optim.AdamW(groups, **self.optimizer_config)

    @property
    def supports_memory_efficient_fp16(self) -> bool:
        """Refuses weights in half precision, for which fairseq asks this."""
        reason = "adamw and muon need weights in float32; leave the option out, or name adam"
        raise UserError(reason, "memory_efficient_fp16 memory_efficient_bf16 optimizer")

    @property
    def supports_flat_params(self) -> bool:
        """Refuses one vector of all weights, for which fairseq asks this."""
        reason = "adamw and muon need each matrix by itself, neither flattened nor sharded"
        raise UserError(reason, "fp16_no_flatten_grads ddp_backend")

    @property
    def optimizer_config(self) -> Dict[str, Any]:
        given = self.cfg.adam_betas  # a text on the command line, perhaps a list under hydra
        try:
            betas = tuple(ast.literal_eval(given) if isinstance(given, str) else given)
        except (SyntaxError, TypeError, ValueError):
            betas = ()
        numbers = all(isinstance(beta, (int, float)) and 0 <= beta < 1 for beta in betas)
        if len(betas) != 2 or not numbers:
            reason = "are not two numbers from 0 and below 1, such as (0.9, 0.95)"
            raise UserError(f"{given!r} {reason}", "adam_betas")
        for name in ("adam_eps", "weight_decay"):
            if not getattr(self.cfg, name) >= 0:
                raise UserError(f"{getattr(self.cfg, name)} is negative", name)
        return {"lr": self.cfg.lr[0], "betas": betas, "eps": self.cfg.adam_eps}

    def load_state_dict(
        self, state_dict: Dict[str, Any], optimizer_overrides: Optional[Dict[str, Any]] = None
    ) -> None:
        """As in fairseq, but ``--optimizer-overrides`` only replaces values that a group has, and
        lets nothing decay that should not."""
        super().load_state_dict(state_dict)
        for group in self.param_groups:
            own = group.keys() - (set() if group["decays"] else {"weight_decay"})
            given = (optimizer_overrides or {}).items()
            group.update({name: value for name, value in given if name in own})


@register_optimizer("muon", dataclass=AdamWConfig)
class FairseqMuon(FairseqAdamW):
    """:class:`MuonAndAdamW`."""

    def _build(self, params: List[nn.Parameter]) -> torch.optim.Optimizer:
        return MuonAndAdamW(params, self.cfg.weight_decay, **self.optimizer_config)
