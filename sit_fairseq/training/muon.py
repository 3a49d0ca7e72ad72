"""Muon (Jordan et al. 2024) for matrices, AdamW for the rest."""

from typing import Any, Callable, Dict, List, Optional

import torch
from fairseq.optim import register_optimizer
from torch import nn

from sit_fairseq.errors import UserError
from sit_fairseq.training.adamw import AdamWConfig, GroupedOptimizer
from sit_fairseq.training.parameter_groups import groups_by_decay, is_for_muon


class MuonAndAdamW(torch.optim.Optimizer):
    """Two optimizers of PyTorch as one, with one list of groups and one state.

    Args:
        matrices: the group that is Muon's.
        others: the groups that are AdamW's.
        adam: options of AdamW; its learning rate is Muon's too.
    """

    def __init__(self, matrices: Dict, others: List[Dict], adam: Dict[str, Any]) -> None:
        # Updates of the size of AdamW's, so that both take the same learning rate.
        self._muon = torch.optim.Muon([matrices], lr=adam["lr"], adjust_lr_fn="match_rms_adamw")
        self._adam = torch.optim.AdamW(others, **adam)
        super().__init__([*self._muon.param_groups, *self._adam.param_groups], {})
        self._share()

    def __setstate__(self, state: Dict[str, Any]) -> None:
        super().__setstate__(state)
        self._share()

    @torch.no_grad()
    def step(self, closure: Optional[Callable[[], float]] = None) -> Optional[float]:
        """Updates all parameters once."""
        loss = self._muon.step(closure)
        self._adam.step()
        return loss

    def _share(self) -> None:
        """Gives both optimizers the groups and the state that this one shows and saves."""
        groups = self.param_groups
        self._muon.__setstate__({"state": self.state, "param_groups": groups[:1]})
        self._adam.__setstate__({"state": self.state, "param_groups": groups[1:]})


@register_optimizer("muon", dataclass=AdamWConfig)
class FairseqMuon(GroupedOptimizer):
    """``torch.optim.Muon`` for matrices of at least 32 x 32, AdamW for everything else.

    Embeddings are AdamW's, whatever their size. Momentum is 0.95, Nesterov's; one learning
    rate serves both, so that every scheduler of fairseq's does.

    Args:
        cfg: the options.
        params: all parameters to train.

    Raises:
        UserError: if PyTorch has no Muon, or there is no such matrix.
    """

    def __init__(self, cfg: AdamWConfig, params: List[nn.Parameter]) -> None:
        super().__init__(cfg)
        if not hasattr(torch.optim, "Muon"):
            raise UserError(
                f"--optimizer muon needs torch.optim.Muon, which PyTorch {torch.__version__} does "
                "not have; install PyTorch 2.9 or later, or pass --optimizer adamw"
            )
        matrices = [parameter for parameter in params if is_for_muon(parameter)]
        if not matrices:
            raise UserError(
                "--optimizer muon is given no matrix of at least 32 x 32; with --fp16 or --bf16 "
                "pass --fp16-no-flatten-grads, for a model as small as this --optimizer adamw"
            )
        others = groups_by_decay((p for p in params if not is_for_muon(p)), cfg.weight_decay)
        muon = groups_by_decay(matrices, cfg.weight_decay)[0]
        self._optimizer = MuonAndAdamW(muon, others, self.optimizer_config)
