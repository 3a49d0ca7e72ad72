"""Blocks of a text: checks them for a model, and counts their streams."""

import logging
from typing import List

import numpy
import torch
from fairseq.data import MonolingualDataset

from sit_fairseq.errors import UserError
from sit_fairseq.tasks.sentences import Sentences
from sit_fairseq.tasks.stream_counts import (
    BLOCK,
    Block,
    CountsStreams,
    lost_names,
    sorts_of,
    symbols_of,
    with_streams,
)

logger = logging.getLogger(__name__)


class StreamBlockDataset(CountsStreams, MonolingualDataset):
    """fairseq's blocks, with ``--max-tokens`` counted in stream tokens.

    Args:
        blocks: what fairseq loaded.
        name: of the split.
        model: says what the model reads.

    Raises:
        UserError: names the first block that holds too many symbols. Of blocks that are too long for
            the model this is for fairseq to say, which may leave them out.
    """

    unit = "block"

    def __init__(self, blocks: MonolingualDataset, name: str, model: Sentences) -> None:
        vars(self).update(vars(blocks))  # fairseq's loader chooses the class of what it loads
        if blocks.supports_prefetch:
            blocks.prefetch(range(len(blocks)))  # old formats give nothing otherwise
        self.name = f"{name} split"
        sorts, streams, self.unknown = sorts_of(model.dictionary), [], 0
        numbers = model.vocabulary.fresh.numbers if model.vocabulary.fresh else ()
        needed, crowded = list(numbers), None
        for first in range(0, len(self), BLOCK):
            read = (blocks.dataset[place] for place in range(first, min(first + BLOCK, len(self))))
            # With the token before each block, which its first one follows.
            texts = [torch.cat((tokens[:1], after)) for tokens, after, _ in read]
            block = Block(texts, 0, len(texts))
            tokens = block.tokens
            if (tokens < 0).any() or (tokens >= len(sorts)).any():
                raise UserError(
                    f"the {name} split has tokens beyond the dictionary; run fairseq-preprocess "
                    "again, into a new folder"
                )
            read_by_model = block.ends - block.starts - 1 <= model.longest
            self.unknown += int((tokens == model.dictionary.unk()).sum())
            keys = symbols_of(block, sorts)
            rows, kinds = keys // len(sorts), sorts[keys % len(sorts)]
            taken = numpy.zeros((len(texts), max(1, len(numbers))), dtype=int)
            for sort, most in enumerate(numbers):
                count = block.count(rows[kinds == sort]) * read_by_model
                taken[:, sort] = count
                needed[sort] = max(needed[sort], int(count.max()))
                if crowded is None and count.max() > most:
                    place = int((count > most).argmax())
                    holds = f"holds {count[place]} symbols of one sort, but this model has {most}"
                    crowded = f"block {first + place + 1} of the {name} split {holds}"
            streams.append(with_streams(taken, numbers) + 1)
        if crowded is not None:
            raise _too_many(crowded, needed, model)
        if self.unknown:
            logger.warning("%s", lost_names(self.unknown, name))
        streams = numpy.concatenate(streams)
        self.num_streams = numpy.ones_like(streams) if model.one_stream else streams


def _too_many(crowded: str, needed: List[int], model: Sentences) -> UserError:
    named = zip(model.dictionary.sorts, needed)
    wanted = ",".join(f"{name}={number}" if name else str(number) for name, number in named)
    shown = wanted if wanted.isdigit() else f"'{wanted}'"
    # Numbered symbols have rows, of which a trained model gets no more.
    wider = f"measure with --model-overrides \"{{'fresh_symbols': {shown}}}\", "
    return UserError(
        f"{crowded}; train with --fresh-symbols {wanted}, "
        f"{'' if model.one_stream else wider}or cut shorter blocks by --tokens-per-sample"
    )
