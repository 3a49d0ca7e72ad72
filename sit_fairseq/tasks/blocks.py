"""Blocks of a text: checks them for a model, and counts their streams."""

from typing import Any

import numpy
import torch
from fairseq.data import MonolingualDataset
from numpy import ndarray
from torch import Tensor

from sit_fairseq.errors import UserError
from sit_fairseq.tasks.sentences import CountsStreams, Sentences


class StreamBlockDataset(CountsStreams, MonolingualDataset):
    """fairseq's blocks, with ``--max-tokens`` counted in stream tokens.

    Args:
        blocks: what fairseq loaded.
        name: of the split.
        sentences: checks them.

    Raises:
        UserError: a block is too long or holds too many symbols.
    """

    unit = "block"

    def __init__(self, blocks: MonolingualDataset, name: str, sentences: Sentences) -> None:
        vars(self).update(vars(blocks))  # fairseq's loader chooses the class of what it loads
        self.name = f"{name} split"
        self.num_streams, self.unknown = sentences.blocks(_Whole(blocks.dataset), name)


class _Whole:
    """Blocks with the token before each of them, which their first one follows."""

    def __init__(self, blocks: Any) -> None:
        self._blocks = blocks

    def __len__(self) -> int:
        return len(self._blocks)

    def __getitem__(self, index: int) -> Tensor:
        tokens, targets, _ = self._blocks[index]
        return torch.cat((tokens[:1], targets))
