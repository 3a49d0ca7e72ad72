"""Blocks of a text: checks them for a model, and counts their streams."""

import logging
from typing import Any, Sequence, Tuple

import numpy
import torch
from fairseq.data import MonolingualDataset
from numpy import ndarray
from torch import Tensor

from sit_fairseq.errors import UserError
from sit_fairseq.tasks.sentences import Sentences
from sit_fairseq.tasks.stream_counts import (
    BLOCK,
    Block,
    CountsStreams,
    lost_names,
    sorts_of,
    symbols_of,
)

logger = logging.getLogger(__name__)


class StreamBlockDataset(CountsStreams, MonolingualDataset):
    """fairseq's blocks, with ``--max-tokens`` counted in stream tokens.

    Args:
        blocks: what fairseq loaded.
        name: of the split.
        sentences: says what the model reads.

    Raises:
        UserError: a block is too long or holds too many symbols.
    """

    unit = "block"

    def __init__(self, blocks: MonolingualDataset, name: str, sentences: Sentences) -> None:
        vars(self).update(vars(blocks))  # fairseq's loader chooses the class of what it loads
        self.name = f"{name} split"
        self.num_streams, self.unknown = check_blocks(_Whole(blocks.dataset), name, sentences)


class _Whole:
    """Blocks with the token before each of them, which their first one follows."""

    def __init__(self, blocks: Any) -> None:
        self._blocks = blocks

    def __len__(self) -> int:
        return len(self._blocks)

    def __getitem__(self, index: int) -> Tensor:
        tokens, targets, _ = self._blocks[index]
        return torch.cat((tokens[:1], targets))


def check_blocks(blocks: Sequence[Tensor], name: str, model: Sentences) -> Tuple[ndarray, int]:
    """Checks the blocks of a text.

    Args:
        blocks: each with the token before it.
        name: of the split.
        model: says what the model reads.

    Returns:
        (n,) the streams of each, and how many tokens are ``<unk>``.

    Raises:
        UserError: names the first block at fault and what to change.
    """
    sorts, streams, unknown = sorts_of(model.dictionary), [], 0
    numbers = model.vocabulary.fresh.numbers if model.vocabulary.fresh else ()
    for first in range(0, len(blocks), BLOCK):
        block = Block.of(blocks, first, min(first + BLOCK, len(blocks)))
        tokens = block.tokens
        if (tokens < 0).any() or (tokens >= len(sorts)).any():
            raise UserError(
                f"the {name} split has tokens beyond the dictionary; run fairseq-preprocess again, "
                "into a new folder"
            )
        sizes = block.ends - block.starts - 1
        if sizes.max() > model.longest:
            place = first + int((sizes > model.longest).argmax())
            raise UserError(
                f"block {place + 1} of the {name} split has {sizes.max()} tokens, more than the "
                f"{model.longest} of the model",
                "max_target_positions tokens_per_sample",
            )
        unknown += int((tokens == model.dictionary.unk()).sum())
        keys = symbols_of(block, sorts)
        rows, kinds = keys // len(sorts), sorts[keys % len(sorts)]
        for sort, most in enumerate(numbers):
            count = block.count(rows[kinds == sort])
            if count.max() > most:
                place = first + int((count > most).argmax())
                raise _too_many(f"block {place + 1} of the {name} split", count.max(), model)
        streams.append(block.count(rows) + 1)
    if unknown:
        logger.warning("%s", lost_names(unknown, name))
    streams = numpy.concatenate(streams)
    return numpy.ones_like(streams) if model.one_stream else streams, unknown


def _too_many(block: str, count: int, model: Sentences) -> UserError:
    # Numbered symbols have rows, of which a trained model gets no more.
    wider = f"measure with --model-overrides \"{{'fresh_symbols': {count}}}\", "
    return UserError(
        f"{block} holds {count} symbols of one sort, but this model has "
        f"{model.vocabulary.fresh.numbers}; train with more --fresh-symbols, "
        f"{'' if model.one_stream else wider}or cut shorter blocks by --tokens-per-sample"
    )
