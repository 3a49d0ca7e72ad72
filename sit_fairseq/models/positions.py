"""Positions: vectors added to embeddings that say where a token stands.

Each kind has ``prepare``, which computes on the CPU what a batch needs, and ``forward``, which makes
the vectors.
"""

import logging
import math
from typing import Optional, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sit_fairseq.models.config import StackConfig
from sit_fairseq.symbols.prefix import tree_fault
from sit_fairseq.symbols.vocabulary import Vocabulary

logger = logging.getLogger(__name__)

# fairseq's tables begin with rows for the special tokens before and at its <pad>.
_FIRST = 2


class NoPositions(nn.Module):
    """Nothing is added: attentions rotate by positions, or there are none."""

    def prepare(self, canonical: Tensor, length: Tensor) -> Optional[Tensor]:
        """Nothing, for (B, T) canonical ids of (B,) tokens each."""

    def fault(self, tokens: Sequence[str]) -> Optional[str]:
        """Nothing is wrong with a sentence."""

    def forward(self, position: Tensor, prepared: Optional[Tensor] = None) -> Optional[Tensor]:
        """(B, T, C) vectors of (B, T) positions; None for nothing."""


class SinusoidalPositions(NoPositions):
    """The sinusoidal positions of fairseq's transformer, ``length`` at most."""

    def __init__(self, length: int, embed_dim: int) -> None:
        super().__init__()
        half = embed_dim // 2
        rates = torch.exp(torch.arange(half) * -(math.log(10000) / max(half - 1, 1)))
        angles = torch.arange(_FIRST + length, dtype=torch.float).unsqueeze(1) * rates
        table = torch.cat([angles.sin(), angles.cos()], dim=1)
        table = F.pad(table, (0, embed_dim % 2))[_FIRST:]
        self.register_buffer("table", table, persistent=False)

    def forward(self, position: Tensor, prepared: Optional[Tensor] = None) -> Tensor:
        """See :class:`NoPositions`."""
        return F.embedding(position, self.table)


class LearnedPositions(nn.Embedding):
    """The learned positions of fairseq's transformer, with its rows, ``length`` at most."""

    prepare, fault = NoPositions.prepare, NoPositions.fault

    def __init__(self, length: int, embed_dim: int) -> None:
        super().__init__(_FIRST + length, embed_dim)
        nn.init.normal_(self.weight, std=embed_dim**-0.5)

    def forward(self, position: Tensor, prepared: Optional[Tensor] = None) -> Tensor:
        """See :class:`NoPositions`."""
        return super().forward(_FIRST + position)


class TreePositions(nn.Module):
    """The path from each token of a prefix formula to its root.

    Each step takes two channels, ``1 0`` for a left or only operand and ``0 1`` for a right one,
    nearest step first; the root and everything beyond the formula are zero. Paths are cut off at
    ``depth`` steps, as in the published code; 0 stands for as many as C channels hold, ``C // 2``. More
    are projected to C channels by a learned matrix. The vocabulary knows the operands of operators.
    """

    def __init__(self, vocabulary: Vocabulary, embed_dim: int, depth: int = 0) -> None:
        super().__init__()
        self.embed_dim = embed_dim
        self.depth = depth or embed_dim // 2
        self.projection = (
            nn.Linear(2 * self.depth, embed_dim, bias=False) if 2 * self.depth > embed_dim else None
        )
        self._vocabulary = [vocabulary]  # no submodule: it is the embedding's
        self._warned = False

    def fault(self, tokens: Sequence[str]) -> Optional[str]:
        """The reason why a sentence of tokens, without ``</s>``, is no tree, else None: words that
        follow "the sentence"."""
        (vocabulary,) = self._vocabulary
        fault = tree_fault(tokens, vocabulary.operators)
        if fault is None:
            return None
        leaves = [token for token in tokens if token in vocabulary.leaves]
        hint = f"; {leaves[0]!r} is a symbol, which has no operands" if leaves else ""
        return f"is not one formula in prefix notation ({fault}{hint})"

    def prepare(self, canonical: Tensor, length: Tensor) -> Tensor:
        """(B, T, D) the :func:`tree_paths` of formulas of (B,) tokens each."""
        paths = tree_paths(self._vocabulary[0].arities(canonical), length)
        if paths.size(2) > self.depth and not self._warned:
            self._warned = True
            logger.warning(
                "a formula is %d operators deep, but tree positions end at %d: "
                "tokens below are told apart by their nearest %d steps alone",
                *(paths.size(2), self.depth, self.depth),
            )
        return paths[..., : self.depth]

    def forward(self, position: Tensor, prepared: Optional[Tensor] = None) -> Tensor:
        """(B, T, C) vectors of the paths."""
        steps = torch.stack((prepared == 0, prepared == 1), dim=3).flatten(2).float()
        width = self.embed_dim if self.projection is None else 2 * self.depth
        steps = F.pad(steps, (0, width - steps.size(2)))
        if self.projection is None:
            return steps
        return self.projection(steps.to(self.projection.weight))


def make_positions(cfg: StackConfig, vocabulary: Vocabulary) -> nn.Module:
    """The positions of one side, encoder or decoder."""
    if cfg.positions == "tree":
        return TreePositions(vocabulary, cfg.embed_dim, cfg.options.tree_depth)
    if cfg.positions == "sinusoidal":
        return SinusoidalPositions(cfg.max_positions, cfg.embed_dim)
    if cfg.positions == "learned":
        return LearnedPositions(cfg.max_positions, cfg.embed_dim)
    return NoPositions()


def tree_paths(arity: Tensor, length: Tensor) -> Tensor:
    """The path from each token of a prefix formula up to the root.

    A token's parent is the last earlier token at which no more operands were open than
    now, and a token is a left (or only) operand exactly if it follows its parent.

    Args:
        arity: (B, T) number of operands of each token; values beyond ``length`` are ignored.
        length: (B,) number of tokens of each formula; a ValueError if a sequence is not exactly one.

    Returns:
        (B, T, D) with D the depth of the deepest formula: entry t is 0 if step t of the path, nearest
        first, comes from a left operand, 1 from a right one, -1 beyond the root.
    """
    position = torch.arange(arity.size(1), device=arity.device)
    inside = position < length.unsqueeze(1)
    # Operands still open before each token, and after the last one.
    change = torch.where(inside, arity - 1, 0)
    before = 1 + change.cumsum(1) - change
    after = 1 + change.sum(1)
    wrong = ((before < 1) & inside).any(1) | (after != 0)
    if bool(wrong.any()):
        raise ValueError(
            f"sentence {int(wrong.nonzero()[0]) + 1} is not one formula in prefix notation, as tree "
            "positions need"
        )
    earlier = position.unsqueeze(0) < position.unsqueeze(1)  # (token, candidate)
    candidate = (before.unsqueeze(1) <= before.unsqueeze(2)) & earlier
    parent = torch.where(candidate, position, -1).amax(2)  # (B, T), -1 for the root
    parent = torch.where(inside, parent, -1)
    side = (position - parent != 1).long()
    steps = []
    ancestor = position.expand_as(parent)
    while True:
        # Beyond the root, which is -1, there is no further ancestor.
        has_parent = (ancestor >= 0) & (parent.gather(1, ancestor.clamp(min=0)) >= 0)
        if not bool(has_parent.any()):
            break
        steps.append(torch.where(has_parent, side.gather(1, ancestor.clamp(min=0)), -1))
        ancestor = torch.where(has_parent, parent.gather(1, ancestor.clamp(min=0)), -1)
    return torch.stack(steps, 2) if steps else arity.new_empty(*arity.shape, 0)
