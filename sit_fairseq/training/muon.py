"""Muon (Jordan et al. 2024) for matrices, and AdamW for what it is not for.

Trainers hand an optimizer a list of parameters without names, so that which of them decay, and
which are Muon's, go by a parameter's shape and by one mark.
"""

from typing import Any, Callable, Dict, Iterable, List, Optional

import torch
from torch import nn

from sit_fairseq.errors import UserError
from sit_fairseq.models.embedding import TokenEmbedding
from sit_fairseq.models.positions import TreePositions

# Orthogonalising a smaller matrix takes more time than it is worth.
_SMALLEST_MATRIX = 32
_EMBEDDING = "embedding"

# Of parameters: Muon's, and AdamW's two.
_GROUPS = 3


def mark_embeddings(model: nn.Module) -> None:
    """Marks tables, whose rows are learnt each from its own token.

    Muon would make the update of a rare token as large as that of a frequent one. The mark is
    ``param_group``, the attribute that fairseq's copies of parameters for ``--fp16`` keep.
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
    """Two groups for ``torch.optim``, as in the published code: matrices decay, embeddings among
    them; biases and norm gains do not."""
    parameters = list(parameters)
    return [
        {
            "params": [parameter for parameter in parameters if (parameter.dim() > 1) == decays],
            "weight_decay": weight_decay if decays else 0.0,
            "decays": decays,
        }
        for decays in (True, False)
    ]


class MuonAndAdamW(torch.optim.Optimizer):
    """``torch.optim.Muon`` for matrices of at least 32 x 32, AdamW for everything else, embeddings that
    :func:`mark_embeddings` has marked among it, as one optimizer.

    Muon's momentum is 0.95, Nesterov's. ``weight_decay`` is of matrices, per unit of the learning rate;
    ``adam`` are AdamW's options, whose learning rate serves both. A UserError without such a matrix, or
    with an older PyTorch.
    """

    def __init__(
        self, parameters: Iterable[nn.Parameter], weight_decay: float = 0.0, **adam: Any
    ) -> None:
        if not hasattr(torch.optim, "Muon"):
            raise UserError("muon comes with PyTorch 2.9", "optimizer")
        kinds: Dict[bool, List[nn.Parameter]] = {True: [], False: []}
        for parameter in parameters:
            kinds[is_for_muon(parameter)].append(parameter)
        if not kinds[True]:
            raise UserError(
                "muon finds no matrix of at least 32 x 32: the model is too small, or its "
                "gradients in half precision are one flat vector",
                "optimizer fp16_no_flatten_grads",
            )
        muon = groups_by_decay(kinds[True], weight_decay)[:1]
        # Updates of the size of AdamW's, so that both take the same learning rate.
        self._muon = torch.optim.Muon(muon, lr=adam["lr"], adjust_lr_fn="match_rms_adamw")
        self._adam = torch.optim.AdamW(groups_by_decay(kinds[False], weight_decay), **adam)
        super().__init__([*self._muon.param_groups, *self._adam.param_groups], {})
        self._share()

    def add_param_group(self, param_group: Dict[str, Any]) -> None:
        if len(self.param_groups) == _GROUPS:
            raise UserError("muon takes all parameters when it is made; make another one")
        super().add_param_group(param_group)

    def __getstate__(self) -> Dict[str, Any]:
        return {**super().__getstate__(), "_muon": self._muon, "_adam": self._adam}

    def __setstate__(self, state: Dict[str, Any]) -> None:
        super().__setstate__(state)
        self._share()

    @torch.no_grad()
    def step(self, closure: Optional[Callable[[], float]] = None) -> Optional[float]:
        loss = self._muon.step(closure)
        self._adam.step()
        return loss

    def _share(self) -> None:
        """Gives both optimizers the groups and the state that this one shows and saves."""
        groups = self.param_groups
        self._muon.__setstate__({"state": self.state, "param_groups": groups[:1]})
        self._adam.__setstate__({"state": self.state, "param_groups": groups[1:]})
