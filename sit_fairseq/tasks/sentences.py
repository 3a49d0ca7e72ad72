"""Checks the sentences that a model reads, typed or in a split of a data set, and counts streams.

A split is checked when it is loaded, a million pairs in about two seconds.
"""

import logging
from collections import Counter
from typing import Any, Callable, Dict, Iterator, Optional, Sequence, Tuple

import numpy
import torch
from fairseq.data import LanguagePairDataset
from numpy import ndarray

from sit_fairseq.errors import UnansweredError, UserError
from sit_fairseq.models.language_model import SymbolInvariantLanguageModel
from sit_fairseq.models.positions import TreePositions
from sit_fairseq.symbols.tokens import refuse, without_embedding
from sit_fairseq.tasks.stream_counts import (
    BLOCK,
    Block,
    CountsStreams,
    excess,
    lost_names,
    sorts_of,
    symbols_of,
    with_streams,
)
from sit_fairseq.tasks.stream_dictionary import StreamDictionary

logger = logging.getLogger(__name__)


class StreamPairDataset(CountsStreams, LanguagePairDataset):
    """fairseq's pairs, with ``--max-tokens`` counted in stream tokens.

    Attributes:
        lines: the sources as text, where they were typed.
        most_fresh: for each sort, the most symbols of a target that its source lacks.
    """

    def __init__(
        self,
        pairs: LanguagePairDataset,
        name: str,
        num_streams: ndarray,
        lines: Sequence[str] = (),
    ) -> None:
        vars(self).update(vars(pairs))  # fairseq's loader chooses the class of what it loads
        self.name, self.num_streams, self.lines = name, num_streams, lines
        self.most_fresh: Counter = Counter()


class Sentences:
    """Checks sentences, dictionary indices that end in ``</s>``, for a model, None if not yet known.

    Attributes:
        longest: the tokens with ``</s>`` of the longest source that is wanted.
        fresh_symbols: how many symbols a target may hold that its source lacks.
        vocabulary: of the model; None if it is none of ours.
        one_stream: whether the model, if it is known, keeps one stream for all symbols.
    """

    def __init__(self, dictionary: StreamDictionary, longest: int, model: Any = None) -> None:
        self.dictionary = dictionary
        self.longest = longest
        self.one_stream, self.fresh_symbols = model is not None, 0
        self._model = self.vocabulary = self._positions = None  # of ours
        reader = getattr(model, "reader", None)
        if reader is not None:
            self.longest = min(longest, reader.cfg.max_positions)
            self._model, self.vocabulary = model, model.vocabulary
            self.one_stream = model.vocabulary.one_stream
            self.fresh_symbols = model.vocabulary.fresh_symbols
            self._positions = reader.embed_positions
        elif model is not None:
            self.longest = min(longest, model.max_positions()[0])

    def require_symbols(self) -> None:
        """Raises a UserError if no token of training data is a symbol."""
        if self.vocabulary is not None and not self.dictionary.known_symbols():
            pattern = self.dictionary.pattern
            given = "no --symbols are named"
            if pattern is not None:
                given = f"--symbols {pattern!r} matches no token of the data"
            raise UserError(
                f"{given}; give a regular expression that matches the interchangeable tokens in full, "
                "for example --symbols '[a-z]'"
            )

    def read(
        self, lines: Sequence[str], encode: Callable[[str], str], max_tokens: Optional[int]
    ) -> Tuple[StreamPairDataset, Dict[int, UnansweredError]]:
        """Reads typed sentences, whose symbols may have any names. ``encode`` splits one into tokens;
        ``max_tokens`` are the most stream tokens of a batch. Returns the sentences that can be
        answered, whose names the dictionary learns, and by place why the others cannot."""
        sentences, streams, texts = [], [], []
        refused: Dict[int, UnansweredError] = {}
        for place, line in enumerate(lines):
            known = len(self.dictionary)
            try:
                line.encode()  # Python keeps bytes that are no text as what it cannot encode
                text = " ".join(encode(line).split())
                begins = not text and isinstance(self._model, SymbolInvariantLanguageModel)
                tokens = self.dictionary.encode([""])[0] if begins else self.dictionary.read(text)
                number, fault = 1, None
                length, new = tokens.numel(), self.dictionary.symbols[known:]
                if self._model is not None:
                    refuse(self._model.unreadable(tokens), line)
                    number = self.vocabulary.most_streams(tokens)
                elif new:
                    fault = f"holds {without_embedding(new)}"
                if length > self.longest:
                    most = self.longest - 1
                    fault = f"has {length - 1} tokens, more than the {most} that the model reads"
                refuse(fault or excess(length, number, max_tokens), line)
            except (UnicodeEncodeError, UserError) as error:
                reason = "the line is no text in UTF-8"
                if isinstance(error, UserError):
                    reason = getattr(error, "reason", str(error))
                refused[place] = UnansweredError(reason, line)
                self.dictionary.forget_after(known)
            else:
                sentences.append(tokens)
                streams.append(number)
                texts.append(text)
        lengths = [tokens.numel() for tokens in sentences]
        pairs = LanguagePairDataset(sentences, lengths, self.dictionary, left_pad_source=False)
        return StreamPairDataset(pairs, "input", numpy.array(streams), texts), refused

    def split(self, pairs: LanguagePairDataset, name: str, cut: int = 0) -> StreamPairDataset:
        """Checks the pairs of a split, and counts their streams; a UserError names the first line at
        fault and what to change. Sources of ``cut`` tokens may have lost their ends."""
        if len(pairs) == 0:
            raise UserError(f"the {name} split has no sentences; run fairseq-preprocess again")
        dataset = StreamPairDataset(pairs, f"{name} source", numpy.ones(len(pairs), dtype=int))
        dataset.counts_unknown = self.vocabulary is None
        fresh = self.vocabulary and self.vocabulary.fresh
        sorts, too_many = sorts_of(self.dictionary), None
        slots = fresh.numbers if fresh else [0] * len(self.dictionary.sorts)
        needed = numpy.zeros(len(slots), dtype=int)
        for first, source, target in _blocks(pairs):
            self._refuse_faults(pairs, name, first, source, target, cut)
            for block in filter(None, (source, target)):
                dataset.unknown += int((block.tokens == self.dictionary.unk()).sum())
            streams, new = self._measure(sorts, source, target)
            dataset.num_streams[first : first + len(streams)] = streams
            needed = numpy.maximum(needed, new.max(0))
            lacking = (new > slots).any(1)
            if too_many is None and lacking.any():
                too_many = first + int(lacking.argmax())
        dataset.most_fresh.update({sort: int(most) for sort, most in enumerate(needed) if most})
        if too_many is not None:
            raise self._too_many_symbols(pairs, name, too_many, needed, cut)
        if dataset.unknown:
            logger.warning("%s", lost_names(dataset.unknown, name))
        return dataset

    def _refuse_faults(
        self,
        pairs: LanguagePairDataset,
        name: str,
        first: int,
        source: Block,
        target: Optional[Block],
        cut: int,
    ) -> None:
        """Raises a UserError for the first pair of a block, from sentence ``first`` on, that no model
        can use, or this one cannot read."""
        faulty = [("source", self._damaged(source))]
        if target is not None:
            faulty.append(("target", self._damaged(target)))
        if self.vocabulary is not None:
            faulty.append(("", self._unreadable(source)))
        found = [(first + int(mask.argmax()), side) for side, mask in faulty if mask.any()]
        if found:
            place, side = min(found, key=lambda one: one[0])
            cause = (
                "does not end in </s>, or has a token beyond the dictionary; run fairseq-preprocess "
                "again, into a new folder"
            )
            if not side:
                words = [self.dictionary[index] for index in pairs.src[place][:-1].tolist()]
                fault = self.dictionary.fault(words, lost=True)
                fault = fault or self._model.unreadable(pairs.src[place])
                rope = ", or train with --encoder-positions rope, which reads any sentence"
                rope = rope if fault == self._positions.fault(words) else ""
                cause = f"{fault}{_cut(pairs, place, cut) or f'; correct or remove it{rope}'}"
            raise UserError(f"line {place + 1} of the {name} {side or 'source'} {cause}")

    def _damaged(self, block: Block) -> ndarray:
        """(B,) whether a sentence of binarised data may be of another dictionary."""
        tokens = block.tokens
        ends = block.holding(block.is_last() & (tokens == self.dictionary.eos()))
        return ~ends | block.holding((tokens < 0) | (tokens >= len(self.dictionary)))

    def _unreadable(self, source: Block) -> ndarray:
        """(B,) whether the model does not read sources of a split, whatever their lengths and
        names."""
        last = source.is_last()
        wrong = ~last & (source.tokens < self.dictionary.unk())  # <s>, <pad> and </s>
        if isinstance(self._positions, TreePositions):
            indices = torch.arange(len(self.dictionary), device="cpu")
            arity = self.vocabulary.arities(self.vocabulary.rows(indices)).numpy()
            change = numpy.where(last, 0, arity.take(source.tokens, mode="clip") - 1)
            total = numpy.append(0, change.cumsum())
            # Operands that are still missing: none at </s> and after the word before it alone.
            missing = 1 + total[1:] - total[source.starts][source.rows]
            inner = ~last & ~numpy.append(last[1:], True)
            wrong |= numpy.where(inner, missing <= 0, last & (missing != 0))
        return source.holding(wrong) | (source.ends - source.starts == 1)

    def _measure(
        self, sorts: ndarray, source: Block, target: Optional[Block]
    ) -> Tuple[ndarray, ndarray]:
        """(B,) the streams of pairs, and (B, G) how many symbols of each sort a target holds that its
        source lacks, given the (V,) sorts of tokens, -1 for base tokens."""
        size, width = len(sorts), len(self.dictionary.sorts)
        streams = numpy.ones(len(source.ends), dtype=int)
        new = numpy.zeros((len(streams), width), dtype=int)
        if self.one_stream and (self.vocabulary is None or self.vocabulary.produces_any_symbol):
            return streams, new
        own = symbols_of(source, sorts)
        if target is not None:
            fresh = numpy.setdiff1d(symbols_of(target, sorts), own, assume_unique=True)
            places = fresh // size * width + sorts[fresh % size]
            new = numpy.bincount(places, minlength=new.size).reshape(new.shape)
        if self.one_stream:
            return streams, new
        streams = source.count(own // size)
        if not self.fresh_symbols:
            return numpy.maximum(streams, 1), new
        # Fresh symbols have the streams of those in the target, of all that there may be if it is
        # not known, and one more for the rest of them.
        if target is None:
            return streams + 1 + self.fresh_symbols, new
        return streams + 1 + with_streams(new, self.vocabulary.fresh.numbers), new

    def _too_many_symbols(
        self, pairs: LanguagePairDataset, name: str, place: int, needed: ndarray, cut: int
    ) -> UserError:
        own = set(pairs.src[place].tolist())
        words = [self.dictionary[i] for i in pairs.tgt[place].tolist() if i not in own]
        symbol = next(filter(self.dictionary.is_symbol, words))
        numbers = zip(self.dictionary.sorts, needed)
        numbers = ",".join(f"{sort}={number}".lstrip("=") for sort, number in numbers)
        training = "" if self.one_stream else f", or train with --fresh-symbols {numbers}"
        remedy = (
            f": it is a fresh symbol, of which this model has {self.fresh_symbols}; remove such pairs, "
            f"or narrow --symbols so that such a token is a base token{training}"
        )
        return UserError(
            f"line {place + 1} of the {name} target holds the symbol {symbol!r}, which its source "
            f"does not{_cut(pairs, place, cut) or remedy}"
        )


def _cut(pairs: LanguagePairDataset, place: int, cut: int) -> str:
    """Says what to change if the source of a pair has ``cut`` tokens, so that it may have lost its
    end; else nothing."""
    if not cut or len(pairs.src[place]) < cut:
        return ""
    return (
        f": --truncate-source leaves {cut - 1} tokens of it; raise --max-source-positions, or pass "
        "--skip-invalid-size-inputs-valid-test instead"
    )


def _blocks(pairs: LanguagePairDataset) -> Iterator[Tuple[int, Block, Optional[Block]]]:
    """The pairs of a data set, block by block: the place of the first, sources, targets if any."""
    sides = [side for side in (pairs.src, pairs.tgt) if side is not None]
    for side in sides:
        if getattr(side, "supports_prefetch", False):
            side.prefetch(range(len(side)))  # old formats give nothing otherwise
    for first in range(0, len(pairs), BLOCK):
        last = min(first + BLOCK, len(pairs))
        source, target = (*(Block(side, first, last) for side in sides), None)[:2]
        yield first, source, target
