"""Sentences: which of them a model can read, typed or in a split of a data set, and at what cost.

All sentences of a split are checked when it is loaded, so that a long run cannot die of a bad line
in its middle.
"""

import logging
from collections import Counter
from itertools import repeat
from typing import Any, Callable, Iterable, Iterator, List, Optional, Sequence, Tuple, Union

import numpy
from fairseq.data import LanguagePairDataset
from torch import Tensor

from sit_fairseq.errors import UnansweredError, UserError
from sit_fairseq.models.positions import NoPositions
from sit_fairseq.models.transformer import SymbolInvariantTransformer
from sit_fairseq.symbols.pattern import SPECIAL_TOKENS
from sit_fairseq.tasks.stream_dictionary import StreamDictionary
from sit_fairseq.tasks.stream_pairs import StreamPairDataset

logger = logging.getLogger(__name__)


class Sentences:
    """What a model asks of its sentences, which are dictionary indices that end in ``</s>``.

    Args:
        dictionary: of sources and targets.
        longest: tokens with ``</s>`` of the longest source that is wanted.
        model: None as long as it is not known.

    Attributes:
        fresh_symbols: how many symbols a target may hold that its source lacks.
    """

    def __init__(self, dictionary: StreamDictionary, longest: int, model: Any = None) -> None:
        self._dictionary = dictionary
        self.longest = longest if model is None else min(longest, model.max_positions()[0])
        self._vocabulary, self._one_stream, self.fresh_symbols = None, model is not None, 0
        self._positions: Any = NoPositions()
        if isinstance(model, SymbolInvariantTransformer):
            self._vocabulary = model.vocabulary
            self._one_stream = model.vocabulary.one_stream
            self.fresh_symbols = model.vocabulary.fresh_symbols
            self._positions = model.encoder.embed_positions

    def require_symbols(self) -> None:
        """Raises a UserError if no token of training data is a symbol."""
        if self._vocabulary is not None and not self._dictionary.known_symbols():
            raise UserError(
                f"--symbols {self._dictionary.pattern!r} matches no token of the data; give a "
                "regular expression that matches the interchangeable tokens in full, for example "
                "--symbols '[a-z]'"
            )

    def read(
        self, lines: Sequence[str], encode: Callable[[str], str], max_tokens: Optional[int]
    ) -> List[Union[Tensor, UnansweredError]]:
        """Reads typed sentences, whose symbols may have any names.

        ``encode`` splits one into tokens; ``max_tokens`` are the most stream tokens of a batch.

        Returns:
            For each sentence its dictionary indices, or why it cannot be answered. The dictionary
            has learnt the names of those that can.
        """
        found: List[Union[Tensor, UnansweredError]] = []
        for line in lines:
            known = len(self._dictionary)
            try:
                line.encode()  # Python keeps bytes that are no text as what it cannot encode
                tokens = self._dictionary.read(encode(line))
                length = tokens.numel()
                pair = LanguagePairDataset([tokens], [length], self._dictionary)
                reason = self.typed(pair).excess(0, max_tokens)
                if length > self.longest:
                    reason = (
                        f"has {length - 1} tokens, more than the {self.longest - 1} that the model "
                        "reads"
                    )
                elif self._vocabulary is None and len(self._dictionary) > known:
                    name = self._dictionary[known]
                    reason = f"holds {name!r}, which the model has no embedding for"
                if reason is not None:
                    raise UnansweredError(f"the sentence {reason}", line)
                found.append(tokens)
            except (UnicodeEncodeError, UserError) as refused:
                reason = getattr(refused, "reason", str(refused))
                if isinstance(refused, UnicodeEncodeError):
                    reason = "the line is no text in UTF-8"
                found.append(UnansweredError(reason, line))
                self._dictionary.forget_after(known)
        return found

    def typed(self, pairs: LanguagePairDataset) -> StreamPairDataset:
        """Checks sources that are to be answered at once, and counts their streams.

        Raises:
            UnansweredError: for the first sentence at fault. Its reason advises nothing: the model
                is as it is.
        """
        sources = [sentence.tolist() for sentence in pairs.src]
        for sentence, source in zip(pairs.src, sources):
            cause = self._fault(source, SPECIAL_TOKENS)
            if cause is None and self._vocabulary is not None:
                cause = self._vocabulary.unreadable(sentence)
            if cause is not None:
                raise UnansweredError(f"the sentence {cause}", self._dictionary.string(sentence))
        streams = [self._measure(source, None)[0] for source in sources]
        return StreamPairDataset(pairs, "input", numpy.array(streams, dtype=int))

    def split(self, pairs: LanguagePairDataset, name: str) -> StreamPairDataset:
        """Checks the pairs of a split, and counts their streams.

        Raises:
            UserError: naming the first line at fault and what to change.
        """
        if len(pairs) == 0:
            raise UserError(f"the {name} split has no sentences; run fairseq-preprocess again")
        dataset = StreamPairDataset(pairs, f"{name} source", numpy.ones(len(pairs), dtype=int))
        fresh = self._vocabulary and self._vocabulary.fresh
        slots = Counter(dict(enumerate(fresh.numbers if fresh else [])))
        too_many = ""
        targets = repeat(None) if pairs.tgt is None else _lists(pairs.tgt)
        for line, (source, target) in enumerate(zip(_lists(pairs.src), targets), start=1):
            for side, indices in (("source", source), ("target", target)):
                if indices is not None and self._is_damaged(indices):
                    raise UserError(
                        f"line {line} of the {name} {side} does not end in </s>, or has a token "
                        "beyond the dictionary; run fairseq-preprocess again, into a new folder"
                    )
            cause = self._fault(source, SPECIAL_TOKENS[:-1])
            if cause is not None:
                raise UserError(f"line {line} of the {name} source {cause}; correct or remove it")
            dataset.unknown += (source + (target or [])).count(self._dictionary.unk())
            dataset.num_streams[line - 1], symbols = self._measure(source, target)
            held = Counter(map(self._dictionary.sort, symbols))
            dataset.most_fresh |= held
            if held - slots and not too_many:
                too_many = f"line {line} of the {name} target holds the symbol {symbols[0]!r}"
        if too_many:
            sorts = enumerate(self._dictionary.sorts)
            needed = [f"{sort}={dataset.most_fresh[number]}".lstrip("=") for number, sort in sorts]
            training = f", or train with --fresh-symbols {','.join(needed)}"
            raise UserError(
                f"{too_many}, which its source does not: it is a fresh symbol, of which this model "
                f"has {self.fresh_symbols}; remove such pairs, or narrow --symbols so that such a "
                f"token is a base token{'' if self._one_stream else training}"
            )
        if dataset.unknown:
            logger.warning("%s", lost_names(dataset.unknown, name))
        return dataset

    def _is_damaged(self, indices: List[int]) -> bool:
        """Binarised data are numbers, which may be those of another dictionary."""
        size = len(self._dictionary)
        return indices[-1:] != [self._dictionary.eos()] or min(indices) < 0 or max(indices) >= size

    def _fault(self, source: List[int], forbidden: Sequence[str]) -> Optional[str]:
        """Why the model cannot read a source, in words that follow its name."""
        if self._vocabulary is None:
            return None
        words = [self._dictionary[index] for index in source[:-1]]
        special = [word for word in words if word in forbidden]
        if not words or special:
            return f"holds {special[0]}, a token of fairseq's own" if words else "is empty"
        fault = self._positions.fault(words)
        if fault is None:
            return None
        return f"{fault}, as tree positions need it, which --encoder-positions rope does not"

    def _measure(self, source: List[int], target: Optional[List[int]]) -> Tuple[int, List[str]]:
        """The streams of a pair, and the symbols of its target that the model cannot produce
        unless they are fresh ones."""
        if self._one_stream and (self._vocabulary is None or self._vocabulary.produces_any_symbol):
            return 1, []
        own, others = map(self._symbols, (source, target or ()))
        fresh = [symbol for symbol in others if symbol not in own]
        if self._one_stream:
            return 1, fresh
        if not self.fresh_symbols:
            return max(len(own), 1), fresh
        # Fresh symbols have the streams of those in the target, of all that there may be if it is
        # not known, and one more for the rest of them.
        return len(own) + 1 + (self.fresh_symbols if target is None else len(fresh)), fresh

    def _symbols(self, indices: Iterable[int]) -> List[str]:
        words = dict.fromkeys(self._dictionary[index] for index in indices)
        return [word for word in words if self._dictionary.is_symbol(word)]


def lost_names(unknown: int, split: str) -> str:
    """What has happened to tokens that are ``<unk>``, and how it is put right."""
    return (
        f"{unknown} tokens of {split} are <unk>: what they were called is lost, as no dictionary had "
        "them; run fairseq-preprocess into another folder, whose --trainpref and --testpref both "
        "name this text"
    )


def _lists(sentences: Sequence[Tensor]) -> Iterator[List[int]]:
    if getattr(sentences, "supports_prefetch", False):
        sentences.prefetch(range(len(sentences)))  # old formats give nothing otherwise
    return (sentences[index].tolist() for index in range(len(sentences)))
