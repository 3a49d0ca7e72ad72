"""Which parameters decay, and which ones Muon may have.

fairseq hands an optimizer a list of parameters without names, so that both rules go by a
parameter's shape and by one mark.
"""

from typing import Any, Dict, Iterable, List

from torch import nn

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
    matrices: List[nn.Parameter] = []
    vectors: List[nn.Parameter] = []
    for parameter in parameters:
        (matrices if parameter.dim() > 1 else vectors).append(parameter)
    return [
        {"params": matrices, "weight_decay": weight_decay, "decays": True},
        {"params": vectors, "weight_decay": 0.0, "decays": False},
    ]


def override(groups: Iterable[Dict[str, Any]], values: Dict[str, Any]) -> None:
    """Replaces values of groups, each only where it is one (``--optimizer-overrides``)."""
    for group in groups:
        exempt = set() if group["decays"] else {"weight_decay"}
        group.update({k: v for k, v in values.items() if k in group.keys() - exempt})
