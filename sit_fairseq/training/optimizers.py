"""AdamW that spares biases and norm gains from decay, and Muon (Jordan et al. 2024) for matrices.

fairseq hands an optimizer a list of parameters without names, so that which of them decay, and
which are Muon's, go by a parameter's shape and by one mark.
"""

import ast
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterable, List, Optional

import torch
from fairseq.dataclass import FairseqDataclass
from fairseq.optim import FairseqOptimizer, register_optimizer
from omegaconf import II
from torch import nn

from sit_fairseq.errors import UserError
from sit_fairseq.models.embedding import TokenEmbedding
from sit_fairseq.models.positions import TreePositions

# Orthogonalising a smaller matrix takes more time than it is worth.
_SMALLEST_MATRIX = 32
_EMBEDDING = "embedding"


def mark_embeddings(model: nn.Module) -> None:
    """Marks the matrices that are tables, whose rows are learnt each from its own token.

    Muon would make the update of a rare token as large as that of a frequent one. The mark
    is ``param_group``, the attribute that fairseq's copies of parameters for ``--fp16`` keep.

    Args:
        model: any model, before its optimizer is built.
    """
    for module in model.modules():
        if isinstance(module, (nn.Embedding, TokenEmbedding)):
            module.weight.param_group = _EMBEDDING
        elif isinstance(module, TreePositions) and module.projection is not None:
            module.projection.weight.param_group = _EMBEDDING


def is_for_muon(parameter: nn.Parameter) -> bool:
    """Whether this is a matrix of at least 32 x 32 that multiplies features."""
    return (
        parameter.dim() == 2
        and min(parameter.shape) >= _SMALLEST_MATRIX
        and getattr(parameter, "param_group", None) != _EMBEDDING
    )


def groups_by_decay(parameters: Iterable[nn.Parameter], weight_decay: float) -> List[Dict]:
    """Two groups: matrices, embeddings among them, decay; biases and norm gains do not.

    As in the published code, where the trainer of Hugging Face exempts biases and layer
    norms and nothing else.

    Args:
        parameters: of a model.
        weight_decay: of the matrices, per unit of the learning rate.

    Returns:
        groups as ``torch.optim`` takes them; one of them may have no parameters.
    """
    parameters = list(parameters)
    return [
        {
            "params": [parameter for parameter in parameters if (parameter.dim() > 1) == decays],
            "weight_decay": weight_decay if decays else 0.0,
            "decays": decays,
        }
        for decays in (True, False)
    ]


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


@register_optimizer("adamw", dataclass=AdamWConfig)
class FairseqAdamW(FairseqOptimizer):
    """``torch.optim.AdamW``; fairseq's ``adam`` lets biases and norm gains decay too.

    Args:
        cfg: the options.
        params: all parameters to train.
    """

    def __init__(self, cfg: AdamWConfig, params: List[nn.Parameter]) -> None:
        super().__init__(cfg)
        self._optimizer = self._build(params)

    def _build(self, params: List[nn.Parameter]) -> torch.optim.Optimizer:
        groups = groups_by_decay(params, self.cfg.weight_decay)
        return torch.optim.AdamW(groups, **self.optimizer_config)

    @property
    def optimizer_config(self) -> Dict[str, Any]:
        """Options of AdamW, as ``torch.optim`` takes them."""
        betas = self.cfg.adam_betas  # a text on the command line, perhaps a list under hydra
        betas = ast.literal_eval(betas) if isinstance(betas, str) else betas
        return {"lr": self.cfg.lr[0], "betas": tuple(betas), "eps": self.cfg.adam_eps}

    def load_state_dict(
        self, state_dict: Dict[str, Any], optimizer_overrides: Optional[Dict[str, Any]] = None
    ) -> None:
        """As in fairseq, but ``--optimizer-overrides`` replaces values of a group only where it
        has them, and lets nothing decay that should not."""
        super().load_state_dict(state_dict)
        for group in self.param_groups:
            own = group.keys() - (set() if group["decays"] else {"weight_decay"})
            given = (optimizer_overrides or {}).items()
            group.update({name: value for name, value in given if name in own})


@register_optimizer("muon", dataclass=AdamWConfig)
class FairseqMuon(FairseqAdamW):
    """``torch.optim.Muon`` for matrices of at least 32 x 32, AdamW for everything else.

    Embeddings are AdamW's, whatever their size. Momentum is 0.95, Nesterov's; one learning
    rate serves both, so that every scheduler of fairseq's does.

    Args:
        cfg: the options.
        params: all parameters to train.

    Raises:
        UserError: there is no such matrix.
    """

    def _build(self, params: List[nn.Parameter]) -> torch.optim.Optimizer:
        matrices = [parameter for parameter in params if is_for_muon(parameter)]
        if not matrices:
            raise UserError(
                "muon is given no matrix of at least 32 x 32: the model is too small, or its "
                "gradients in half precision are one flat vector",
                "optimizer fp16_no_flatten_grads",
            )
        others = [parameter for parameter in params if not is_for_muon(parameter)]
        others = groups_by_decay(others, self.cfg.weight_decay)
        muon = groups_by_decay(matrices, self.cfg.weight_decay)[0]
        return MuonAndAdamW(muon, others, self.optimizer_config)


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
