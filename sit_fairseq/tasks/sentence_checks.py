"""What must hold for every sentence before a model may see it.

Everything is checked when a split is loaded, so that a long run cannot die of a bad line
in its middle.
"""

import logging
from typing import Callable, NamedTuple, Optional, Sequence, Tuple

import torch
from torch import Tensor

from sit_fairseq.errors import UnansweredError, UserError
from sit_fairseq.logic.syntax import ARITY
from sit_fairseq.symbols.vocabulary import Vocabulary
from sit_fairseq.tasks.sentence_chunks import sentence_chunks
from sit_fairseq.tasks.stream_dictionary import StreamDictionary

logger = logging.getLogger(__name__)


class SentenceChecker:
    """Checks sentences given as dictionary indices that end in ``</s>``.

    Args:
        vocabulary: tells base tokens from symbols.
        arities: from rows to the number of operands of their tokens, where the model reads
            sources as formulas in prefix notation; else None.
    """

    def __init__(
        self, vocabulary: Vocabulary, arities: Optional[Callable[[Tensor], Tensor]]
    ) -> None:
        self.vocabulary = vocabulary
        self._arities = arities

    def check_split(self, split: str, sources: Sequence[Tensor], targets) -> int:
        """Checks a data split.

        Args:
            split: its name, for the messages.
            sources: one 1-D tensor per sentence.
            targets: likewise, or None.

        Returns:
            The most symbols of a target that its source lacks.

        Raises:
            UserError: naming the first line at fault and what to change.
        """
        unk = self.vocabulary.dictionary.unk()
        unknown = unknown_targets = foreign = most = 0
        foreigner = ""
        for first, tokens, lengths in sentence_chunks(sources):
            name = _LineName(f"of the {split} source", first)
            self._refuse_foreign(tokens, lengths, name)
            self.check_sources(tokens, lengths, name)
            self._check_names(tokens, lengths, name)
            unknown += int(tokens.eq(unk).sum())
            if targets is not None:
                last = first + lengths.numel()
                _, target, target_lengths = next(sentence_chunks(targets, first, last))
                name = _LineName(f"of the {split} target", first)
                self._refuse_foreign(target, target_lengths, name)
                self._check_targets(target, target_lengths, name)
                of_pairs = self._foreign_symbols(tokens, lengths, target, target_lengths, name)
                foreigner = foreigner or of_pairs.first
                foreign, most = foreign + of_pairs.pairs, max(most, of_pairs.most)
                unknown_targets += int(target.eq(unk).sum())
        reserved = self.vocabulary.fresh_symbols
        if foreign and not reserved:
            raise UserError(
                f"{foreigner}, which its source does not, as in {foreign} of the {len(sources)} "
                "pairs; a symbol without a stream cannot be produced: remove them, narrow "
                "--symbols so that such a token is a base token, or train with --fresh-symbols "
                f"{most}"
            )
        if foreign:
            raise UserError(
                f"{foreigner} and more symbols that its source does not, than the {reserved} of "
                f"--fresh-symbols, as in {foreign} of the {len(sources)} pairs; train with "
                f"--fresh-symbols {most}, or remove them"
            )
        if unknown:
            logger.warning(
                "%d source tokens of %s are <unk>: they were in no dictionary when "
                "fairseq-preprocess ran, so what they were called is lost",
                unknown,
                split,
            )
        if unknown_targets:
            logger.warning(
                "%d target tokens of %s are <unk>: they were in no dictionary when "
                "fairseq-preprocess ran, and %s",
                unknown_targets,
                split,
                (
                    "<unk> is what the model learns to answer"
                    if self.vocabulary.source_only is None
                    else "count for no loss, as <unk> is never an answer"
                ),
            )
        return most

    def check_input(self, sentences: Sequence[Tensor], text: Callable[[int], str]) -> None:
        """Checks sentences that are to be answered at once, of which nothing may be lost.

        Args:
            sentences: one 1-D tensor per sentence.
            text: maps the index of a sentence to the sentence in words.

        Raises:
            UnansweredError: for the first sentence at fault. Its reason advises nothing: the
                model is as it is.
        """
        tokens = torch.cat(list(sentences))
        lengths = torch.tensor([sentence.numel() for sentence in sentences])
        unknown = self._first(tokens.eq(self.vocabulary.dictionary.unk()), lengths)
        if unknown is not None:
            raise UnansweredError(
                "the sentence holds a token that is neither a base token of the model nor matched "
                "by its --symbols",
                text(unknown),
            )
        fault = self._fault(tokens, lengths)
        if fault is not None:
            raise UnansweredError(f"the sentence {fault.cause}", text(fault.sentence))
        for index, sentence in enumerate(sentences):
            cause = self.vocabulary.unreadable(sentence)
            if cause is not None:
                raise UnansweredError(f"the sentence {cause}", text(index))

    def check_sources(self, tokens: Tensor, lengths: Tensor, name) -> None:
        """Checks concatenated sources.

        Args:
            tokens: all sentences in a row, each with its ``</s>``.
            lengths: the length of each.
            name: maps the index of a sentence to words for the message.

        Raises:
            UserError: naming the first sentence at fault and what to change.
        """
        fault = self._fault(tokens, lengths)
        if fault is not None:
            raise UserError(f"{name(fault.sentence)} {fault.cause}; {fault.remedy}")

    def _fault(self, tokens: Tensor, lengths: Tensor) -> Optional["_Fault"]:
        empty = (lengths < 2).nonzero()
        if empty.numel():
            return _Fault(int(empty[0]), "is empty", "remove it from the file given")
        special = tokens < self.vocabulary.dictionary.unk()
        end = lengths.cumsum(0) - 1
        special[end] &= tokens[end].ne(self.vocabulary.dictionary.eos())
        holder = self._first(special, lengths)
        if holder is not None:
            token = self.vocabulary.dictionary[int(tokens[special][0])]
            return _Fault(holder, f"holds {token}, a token of fairseq's own", "remove it")
        return None if self._arities is None else self._formula_fault(tokens, lengths)

    @staticmethod
    def _first(of_tokens: Tensor, lengths: Tensor) -> Optional[int]:
        """The first sentence with a token of which something is true."""
        places = of_tokens.nonzero()
        return int((lengths.cumsum(0) <= int(places[0])).sum()) if places.numel() else None

    def _refuse_foreign(self, tokens: Tensor, lengths: Tensor, name) -> None:
        """Binarised data are numbers; those of another dictionary may be beyond this one."""
        size = len(self.vocabulary.dictionary)
        places = (tokens.lt(0) | tokens.ge(size)).nonzero()
        if places.numel():
            index = int((lengths.cumsum(0) <= int(places[0])).sum())
            raise UserError(
                f"{name(index)} holds token number {int(tokens[places[0]])}, but the dictionary "
                f"beside the data has only {size}; run fairseq-preprocess again, into a new folder"
            )
        open_ended = tokens[lengths.cumsum(0) - 1].ne(self.vocabulary.dictionary.eos()).nonzero()
        if open_ended.numel():
            raise UserError(
                f"{name(int(open_ended[0]))} does not end in </s>; run fairseq-preprocess again, "
                "into a new folder"
            )

    def _formula_fault(self, tokens: Tensor, lengths: Tensor) -> Optional["_Fault"]:
        arity = self._arities(self.vocabulary.rows(tokens))
        is_token = tokens.ne(self.vocabulary.dictionary.eos())
        change = torch.where(is_token, arity - 1, 0)
        end = lengths.cumsum(0)
        sentence = torch.repeat_interleave(torch.arange(lengths.numel()), lengths)
        total = torch.cat((change.new_zeros(1), change.cumsum(0)))
        opened = 1 + total[:-1] - total[end - lengths][sentence]  # before each token
        wrong = torch.zeros_like(lengths, dtype=torch.bool)
        wrong[sentence[is_token & (opened < 1)]] = True
        wrong |= total[end] - total[end - lengths] != -1
        if bool(wrong.any()):
            return _Fault(
                int(wrong.nonzero()[0]),
                "is not one formula in prefix notation, as tree positions need it",
                "correct it, or train with --encoder-positions rope",
            )
        return None

    def _check_targets(self, target: Tensor, lengths: Tensor, name: "_LineName") -> None:
        source_only = self.vocabulary.source_only
        if source_only is None:
            return
        rows = self.vocabulary.rows(target)
        # fairseq's own tokens are not answers, but no reason to refuse a sentence.
        named = rows >= self.vocabulary.dictionary.nspecial
        wrong = (named & source_only.cpu().bool()[rows.clamp(min=0)]).nonzero()
        if wrong.numel():
            raise UserError(
                f"{self._holds('base token', target, lengths, int(wrong[0]), name)}, which only "
                "the source dictionary had when the model was trained, before its conversion, so "
                "that it cannot be produced; remove the pair, or convert a model with a joined "
                "dictionary"
            )

    def _foreign_symbols(
        self,
        source: Tensor,
        source_lengths: Tensor,
        target: Tensor,
        target_lengths: Tensor,
        name: "_LineName",
    ) -> "_Foreign":
        """What targets hold more than a model can produce, which has streams for the symbols of
        the sources and for some others."""
        if self.vocabulary.produces_any_symbol:
            return _Foreign(0, "", 0)
        in_source = self._symbol_keys(source, source_lengths)[0]
        in_target, place = self._symbol_keys(target, target_lengths)
        missing = ~torch.isin(in_target, in_source)
        in_target, place = in_target[missing], place[missing]
        size = len(self.vocabulary.dictionary)
        number = torch.bincount(in_target.unique() // size, minlength=target_lengths.numel())
        place = place[number[in_target // size] > self.vocabulary.fresh_symbols]
        if not place.numel():
            return _Foreign(0, "", int(number.max()))
        where = self._holds("symbol", target, target_lengths, int(place[0]), name)
        pairs = int((number > self.vocabulary.fresh_symbols).sum())
        return _Foreign(pairs, where, int(number.max()))

    def _check_names(self, tokens: Tensor, lengths: Tensor, name: "_LineName") -> None:
        """Answers to all sources must have names for all reserved slots."""
        keys = self._symbol_keys(tokens, lengths)[0].unique()
        number = torch.bincount(keys // len(self.vocabulary.dictionary), minlength=1)
        fresh = self.vocabulary.fresh
        if fresh is None or fresh.enough_for(int(number.max())):
            return
        for index, sentence in enumerate(tokens.split(lengths.tolist())):
            cause = self.vocabulary.unreadable(sentence)
            if cause is not None:
                raise UserError(f"{name(index)} {cause}")

    def _holds(self, kind: str, tokens: Tensor, lengths: Tensor, at: int, name: "_LineName") -> str:
        line = int((lengths.cumsum(0) <= at).sum())
        return f"{name(line)} holds the {kind} {self.vocabulary.dictionary[int(tokens[at])]!r}"

    def _symbol_keys(self, tokens: Tensor, lengths: Tensor) -> Tuple[Tensor, Tensor]:
        """One number per (sentence, symbol), and the places they come from."""
        place = (self.vocabulary.rows(tokens) < 0).nonzero().squeeze(1)
        sentence = torch.repeat_interleave(torch.arange(lengths.numel()), lengths)
        return sentence[place] * len(self.vocabulary.dictionary) + tokens[place], place


def refuse_operators_as_symbols(dictionary: StreamDictionary) -> None:
    """Raises if symbols are not leaves, for a model that reads sources as formulas.

    Raises:
        UserError: naming an operator.
    """
    operators = [token for token in dictionary.known_symbols() if token in ARITY]
    if operators:
        raise UserError(
            f"--symbols {dictionary.pattern!r} matches the operator {operators[0]!r}; choose a "
            "regular expression that matches interchangeable tokens only, or --encoder-positions "
            "rope if the sources are no formulas"
        )


class _Fault(NamedTuple):
    """What is wrong with a sentence, and what to do about it if it is one to train on."""

    sentence: int
    cause: str
    remedy: str


class _Foreign(NamedTuple):
    """Symbols of targets that their sources lack and that cannot be produced.

    Attributes:
        pairs: with such targets.
        first: words for the first such symbol.
        most: symbols of one target that its source lacks.
    """

    pairs: int
    first: str
    most: int


class _LineName:
    """Words for a line of a data file, counted from 1."""

    def __init__(self, where: str, first: int) -> None:
        self.where, self.first = where, first

    def __call__(self, index: int) -> str:
        return f"line {self.first + index + 1} {self.where}"
