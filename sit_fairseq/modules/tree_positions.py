"""Tree positional encoding of prefix formulas."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def tree_paths(arity: Tensor, length: Tensor) -> Tensor:
    """The path from each token of a prefix formula up to the root.

    A token's parent is the last earlier token at which no more operands were open than
    now, and a token is a left (or only) operand exactly if it follows its parent.

    Args:
        arity: (B, T) number of operands of each token; values beyond ``length`` are
            ignored.
        length: (B,) number of tokens of each formula.

    Returns:
        (B, T, D) with D the depth of the deepest formula: entry t is 0 if step t of the
        path, nearest first, comes from a left operand, 1 from a right one, -1 beyond the
        root.

    Raises:
        ValueError: if a sequence is not exactly one formula.
    """
    position = torch.arange(arity.size(1), device=arity.device)
    inside = position < length.unsqueeze(1)
    # Operands still open before each token, and after the last one.
    change = torch.where(inside, arity - 1, 0)
    before = 1 + change.cumsum(1) - change
    after = 1 + change.sum(1)
    if bool(((before < 1) & inside).any()) or bool((after != 0).any()):
        raise ValueError("not a well-formed prefix formula")
    earlier = position.unsqueeze(0) < position.unsqueeze(1)  # (token, candidate)
    candidate = (before.unsqueeze(1) <= before.unsqueeze(2)) & earlier
    parent = torch.where(candidate, position, -1).amax(2)  # (B, T), -1 for the root
    parent = torch.where(inside, parent, -1)
    side = (position - parent != 1).long()
    steps = []
    ancestor = position.expand_as(parent)
    while True:
        # -1 - 1 + 1 = -1: beyond the root there is no further ancestor.
        has_parent = (ancestor >= 0) & (parent.gather(1, ancestor.clamp(min=0)) >= 0)
        if not bool(has_parent.any()):
            break
        steps.append(torch.where(has_parent, side.gather(1, ancestor.clamp(min=0)), -1))
        ancestor = torch.where(has_parent, parent.gather(1, ancestor.clamp(min=0)), -1)
    return torch.stack(steps, 2) if steps else arity.new_empty(*arity.shape, 0)


class TreePositions(nn.Module):
    """Adds to each token the path from it to the root of its formula.

    Each step takes two channels, ``1 0`` for a left or only operand and ``0 1`` for a
    right one, nearest step first; the root and everything beyond the formula are zero.

    Args:
        embed_dim: C.
        depth: the deepest formula that can be read, or 0 for as deep as C channels hold,
            ``C // 2``. A larger depth is projected to C channels by a learned matrix.
    """

    def __init__(self, embed_dim: int, depth: int = 0) -> None:
        super().__init__()
        self.embed_dim = embed_dim
        self.depth = depth or embed_dim // 2
        self.projection = (
            nn.Linear(2 * self.depth, embed_dim, bias=False) if 2 * self.depth > embed_dim else None
        )

    def forward(self, paths: Tensor) -> Tensor:
        """Computes the encoding.

        Args:
            paths: (B, T, D) of :func:`tree_paths`.

        Returns:
            (B, T, C) float32.

        Raises:
            ValueError: if a formula is deeper than ``depth``.
        """
        if paths.size(2) > self.depth:
            raise ValueError(f"a formula is {paths.size(2)} deep, positions allow {self.depth}")
        steps = torch.stack((paths == 0, paths == 1), dim=3).flatten(2).float()
        width = self.embed_dim if self.projection is None else 2 * self.depth
        steps = F.pad(steps, (0, width - steps.size(2)))
        return (
            steps if self.projection is None else self.projection(steps.to(self.projection.weight))
        )
