"""Pairs of sentences whose batches are measured by the streams that are computed."""

import logging
from typing import List, Optional, Sequence

import numpy
import torch
from fairseq.data import LanguagePairDataset
from torch import Tensor

from sit_fairseq.errors import UserError
from sit_fairseq.tasks.sentence_chunks import sentence_chunks
from sit_fairseq.tasks.stream_dictionary import StreamDictionary

logger = logging.getLogger(__name__)


def count_symbols(
    sentences: Sequence[Tensor],
    dictionary: StreamDictionary,
    others: Optional[Sequence[Tensor]] = None,
) -> numpy.ndarray:
    """The number of distinct symbols of each sentence.

    Args:
        sentences: one 1-D tensor of dictionary indices per sentence.
        dictionary: says which tokens are symbols.
        others: as many sentences whose symbols count, too, once for each pair.

    Returns:
        (n,) counts, 0 for a sentence without symbols.
    """
    is_symbol = torch.tensor([dictionary.is_symbol(token) for token in dictionary.symbols])

    def keys(tokens: Tensor, lengths: Tensor) -> Tensor:
        """One key per (sentence, symbol)."""
        place = is_symbol[tokens].nonzero().squeeze(1)
        sentence = torch.repeat_interleave(lengths)[place]
        return torch.unique(sentence * len(dictionary) + tokens[place])

    counts = numpy.zeros(len(sentences), dtype="int32")
    for first, tokens, lengths in sentence_chunks(sentences):
        number = lengths.numel()
        found = keys(tokens, lengths)
        if others is not None:
            _, tokens, lengths = next(sentence_chunks(others, first, first + number))
            found = torch.unique(torch.cat((found, keys(tokens, lengths))))
        counts[first : first + number] = torch.bincount(found // len(dictionary), minlength=number)
    return counts


class StreamPairDataset(LanguagePairDataset):
    """fairseq's pairs, with ``--max-tokens`` counted in *stream tokens*.

    A batch has one row for each stream of its sentences, in the encoder and in the decoder,
    and its rows are padded to its longest sentence. It costs that length times its streams,
    so that memory does not depend on how symbols are spread over sentences. Lengths, as
    compared with ``--max-source-positions``, remain plain tokens.

    Args:
        pairs: what fairseq loaded, without buckets; its source dictionary is a
            :class:`StreamDictionary`.
        name: of the source, for messages.
        one_stream: the model has one stream per sentence, whatever its symbols.
        fresh_symbols: how many symbols a target may hold that its source lacks.

    Attributes:
        skips_costly: sentences that exceed ``--max-tokens`` by themselves are left out, and
            counted, instead of refused.
    """

    skips_costly = False

    def __init__(
        self, pairs: LanguagePairDataset, name: str, one_stream: bool, fresh_symbols: int = 0
    ) -> None:
        # fairseq's loader chooses the class of what it loads.
        super().__init__(
            pairs.src,
            pairs.src_sizes,
            pairs.src_dict,
            pairs.tgt,
            pairs.tgt_sizes,
            pairs.tgt_dict,
            left_pad_source=pairs.left_pad_source,
            left_pad_target=pairs.left_pad_target,
            shuffle=pairs.shuffle,
            input_feeding=pairs.input_feeding,
            remove_eos_from_source=pairs.remove_eos_from_source,
            append_eos_to_target=pairs.append_eos_to_target,
            align_dataset=pairs.align_dataset,
            constraints=pairs.constraints,
            append_bos=pairs.append_bos,
            eos=pairs.eos,
            src_lang_id=pairs.src_lang_id,
            tgt_lang_id=pairs.tgt_lang_id,
            pad_to_multiple=pairs.pad_to_multiple,
        )
        self.name = name
        self.one_stream = one_stream
        self.fresh_symbols = fresh_symbols
        self._num_streams: Optional[numpy.ndarray] = None

    @property
    def num_streams(self) -> numpy.ndarray:
        """(n,) the streams of each sentence, at least 1; counted when first asked for. Fresh
        symbols have those that the target holds, all that there may be if it is not known, and
        one more for the rest of them."""
        if self._num_streams is None:
            if self.one_stream:
                self._num_streams = numpy.ones(len(self), dtype="int32")
            elif not self.fresh_symbols:
                self._num_streams = count_symbols(self.src, self.src_dict).clip(min=1)
            else:
                unknown = 0 if self.tgt is not None else self.fresh_symbols
                self._num_streams = count_symbols(self.src, self.src_dict, self.tgt) + unknown + 1
        return self._num_streams

    def costs(self, indices: numpy.ndarray) -> numpy.ndarray:
        """(n,) the stream tokens of each of these sentences: its length times its streams."""
        return self.num_tokens_vec(indices).astype("int64") * self.num_streams[indices]

    def batch_by_size(
        self,
        indices: numpy.ndarray,
        max_tokens: Optional[int] = None,
        max_sentences: Optional[int] = None,
        required_batch_size_multiple: int = 1,
    ) -> List[numpy.ndarray]:
        """Divides an ordered set of sentences into batches.

        fairseq compares ``max_tokens`` with the most expensive sentence times the number of
        sentences, which neither bounds a batch of a long sentence and one of many symbols
        nor fills one where the symbols vary. Here it bounds the batch itself. The order can
        therefore remain fairseq's, by length alone.

        Args:
            indices: the sentences.
            max_tokens: most stream tokens of a batch, None for no limit.
            max_sentences: most sentences of a batch, None for no limit.
            required_batch_size_multiple: ignored where ``max_tokens`` is given.

        Raises:
            UserError: a sentence has more than ``max_tokens`` by itself; if such are skipped,
                all have.
        """
        if max_tokens is None:
            return super().batch_by_size(
                indices,
                max_sentences=max_sentences,
                required_batch_size_multiple=required_batch_size_multiple,
            )
        if len(indices) == 0:
            return []
        indices = self._affordable(indices, max_tokens)
        lengths, streams = self.num_tokens_vec(indices), self.num_streams[indices]
        cuts, first, longest, total = [], 0, 0, 0
        for position, (length, count) in enumerate(zip(lengths.tolist(), streams.tolist())):
            longest, total = max(longest, length), total + count
            if longest * total > max_tokens or position - first == max_sentences:
                cuts.append(position)
                first, longest, total = position, length, count
        return numpy.split(indices, cuts)

    def _affordable(self, indices: numpy.ndarray, max_tokens: int) -> numpy.ndarray:
        """Those of the sentences that fit into a batch, in their order."""
        costs = self.costs(indices)
        too_many = costs > max_tokens
        if not too_many.any():
            return indices
        worst = indices[costs.argmax()]
        what = (
            f"line {worst + 1} of the {self.name} counts {costs.max()} tokens "
            f"({self.num_tokens(worst)} with </s>; streams: {self.num_streams[worst]}), more than "
            f"the {max_tokens} of --max-tokens"
        )
        remedy = f"raise it (in validation --max-tokens-valid) to {costs.max()}"
        if not self.skips_costly:
            raise UserError(f"{what}; {remedy}, or remove the line")
        if too_many.all():
            raise UserError(f"no line is left: {what}, and all others exceed them too; {remedy}")
        logger.warning(
            "%d of %d lines of the %s are skipped, as their length times their streams exceeds the "
            "%d of --max-tokens, the first of them line %d; %s to skip none",
            too_many.sum(),
            len(indices),
            self.name,
            max_tokens,
            indices[too_many].min() + 1,
            remedy,
        )
        return indices[~too_many]
