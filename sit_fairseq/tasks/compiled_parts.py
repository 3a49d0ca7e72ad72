"""NumPy versions of fairseq's compiled parts, for a fairseq that was installed without a compiler.

=================================== ==============================================================
compiled part                       used by
=================================== ==============================================================
``fairseq.data.data_utils_fast``    every training and generation, to group sentences into batches
``...data.token_block_utils_fast``  language modelling, to cut a text into blocks
``fairseq.libbleu``                 ``--scoring bleu``, the default of fairseq-generate
=================================== ==============================================================

Results are those of the compiled parts. fairseq's other two, ``libnat`` and ``libbase``, serve models
that are not autoregressive and layers of experts.
"""

import sys
from collections import Counter
from importlib.util import find_spec
from types import ModuleType
from typing import Callable, Iterator, List, Optional, Tuple

import numpy
import torch
from fairseq.scoring import bleu


def provide() -> None:
    """Puts the versions of this module where compiled parts are missing; nothing if none is."""
    for name, functions in _MODULES.items():
        if name not in sys.modules and find_spec(name) is None:
            module = ModuleType(name, __doc__)
            vars(module).update({function.__name__: function for function in functions})
            sys.modules[name] = module
    if find_spec("fairseq.libbleu") is None:
        bleu.Scorer.__init__, bleu.Scorer.reset, bleu.Scorer.add = _init, _reset, _add


# Batches.


def batch_by_size_vec(
    indices: numpy.ndarray,
    num_tokens_vec: numpy.ndarray,
    max_tokens: int,
    max_sentences: int,
    bsz_mult: int,
) -> List[numpy.ndarray]:
    """Groups neighbouring sentences into batches as large as the limits allow.

    A million sentences take 0.2 s.

    Args:
        indices: (n,) the sentences, in order.
        num_tokens_vec: (n,) the length of each.
        max_tokens: limit of a batch's sentences times its longest length; no limit if not positive.
        max_sentences: limit of a batch's sentences; no limit if not positive.
        bsz_mult: a batch has fewer sentences than this or a multiple of it, where the limits allow.

    Returns:
        The batches: parts of ``indices``.

    Raises:
        AssertionError: a sentence is longer than ``max_tokens``.
    """
    if len(indices) == 0:
        return []
    if 0 < max_tokens < numpy.max(num_tokens_vec):
        raise AssertionError(f"Sentences lengths should not exceed max_tokens={max_tokens}")
    most_tokens = max_tokens if max_tokens > 0 else sys.maxsize
    most_sentences = max_sentences if max_sentences > 0 else sys.maxsize
    ends: List[int] = []
    # The batch that grows is [start, end); the tail [end, position] waits to be a multiple.
    start = end = width = tail_width = 0
    for position, length in enumerate(num_tokens_vec.tolist(), 1):
        if length > tail_width:
            tail_width = length
        whole_width = width if width > tail_width else tail_width
        size = position - start
        overflows = size > most_sentences or size * whole_width > most_tokens
        if overflows:
            if (position - end) * tail_width > most_tokens:  # so does the tail by itself
                ends.append(end)
                end = position - 1
                tail_width = length
            ends.append(end)
            start = end
            whole_width = tail_width
        if overflows or size < bsz_mult or size % bsz_mult == 0:
            end = position
            width = whole_width
            tail_width = 0
    if end != len(indices):
        ends.append(end)
    return numpy.split(indices, ends)


def batch_by_size_fn(
    indices: numpy.ndarray,
    num_tokens_fn: Callable[[int], int],
    max_tokens: int,
    max_sentences: int,
    bsz_mult: int,
) -> List[numpy.ndarray]:
    """:func:`batch_by_size_vec` with a function that gives a sentence's length."""
    lengths = numpy.array([num_tokens_fn(index) for index in indices.tolist()], dtype=numpy.int64)
    return batch_by_size_vec(indices, lengths, max_tokens, max_sentences, bsz_mult)


def batch_fixed_shapes_fast(
    indices: numpy.ndarray,
    num_tokens_fn: Callable[[int], int],
    fixed_shapes_sorted: numpy.ndarray,
) -> List[List[int]]:
    """Groups neighbouring sentences into batches that fit one of the shapes.

    A million sentences take 0.6 s.

    Args:
        indices: (n,) the sentences, in order.
        num_tokens_fn: gives the length of a sentence.
        fixed_shapes_sorted: (shapes, 2) sentences and length of each, small ones first.

    Returns:
        The batches. As in fairseq, the first sentence of a batch does not count for its length.
    """
    shapes = fixed_shapes_sorted.tolist()
    batches: List[List[int]] = []
    batch: List[int] = []
    first = longest = 0
    for index in indices.tolist():
        longest = max(longest, num_tokens_fn(index))
        size = len(batch) + 1
        while first < len(shapes) and (size > shapes[first][0] or longest > shapes[first][1]):
            first += 1
        if first == len(shapes):
            batches.append(batch)
            batch = []
            first = longest = 0
        batch.append(index)
    if batch:
        batches.append(batch)
    return batches


# Blocks of text.


def _get_slice_indices_fast(
    sizes: numpy.ndarray, break_mode: Optional[str], block_size: int, document_sep_len: int
) -> numpy.ndarray:
    """Cuts a text of sentences into blocks.

    A million sentences take 0.2 s.

    Args:
        sizes: (n,) tokens of each sentence.
        break_mode: ``none`` cuts after ``block_size`` tokens, ``complete`` and ``complete_doc`` after
            the last sentence that fits, ``complete_doc`` also between documents, ``eos`` after each
            sentence.
        block_size: tokens of a block.
        document_sep_len: the size of a sentence that separates documents.

    Returns:
        (blocks, 2) the first token of each and the one after its last.

    Raises:
        ValueError: another ``break_mode``.
    """
    if break_mode is None or break_mode == "none":
        total = int(sizes.sum())
        starts = numpy.arange(0, total, block_size)
        return numpy.stack([starts, numpy.minimum(starts + block_size, total)], 1)
    if break_mode == "eos":
        ends = sizes.cumsum()
        return numpy.stack([ends - sizes, ends], 1)
    if break_mode not in ("complete", "complete_doc"):
        raise ValueError("Invalid break_mode: " + break_mode)
    blocks = _whole_sentences(sizes, block_size, document_sep_len, break_mode == "complete_doc")
    return numpy.array(list(blocks), dtype=numpy.int64).reshape(-1, 2)


def _whole_sentences(
    sizes: numpy.ndarray, block_size: int, separator: int, documents: bool
) -> Iterator[Tuple[int, int]]:
    """The blocks of whole sentences; ``separator`` ends one if the text has ``documents``."""
    smallest = 1 if documents else 0  # a document of one token is its end
    start = end = 0
    for size in sizes.tolist():
        separates = documents and size == separator
        if separates or (end > start and end - start + size > block_size):
            if end - start > smallest:
                yield start, end
            start = end
        end += size
        if separates:
            start = end
    if end - start > smallest:
        yield start, end


def _get_block_to_dataset_index_fast(
    sizes: numpy.ndarray, slice_indices: numpy.ndarray
) -> numpy.ndarray:
    """Where blocks of a text begin and end.

    A million blocks take 0.2 s.

    Args:
        sizes: (n,) tokens of each sentence.
        slice_indices: (blocks, 2) the first token of each and the one after its last.

    Returns:
        (blocks, 3) the sentence with the first token, the place of the token in it, the sentence
        with the last token.
    """
    begins = sizes.cumsum() - sizes
    starts, stops = slice_indices.T
    first = _sentences_at(starts, begins)
    last = numpy.where(stops > starts, _sentences_at(stops - 1, begins), first)
    return numpy.stack([first, starts - begins[first], last], 1)


def _sentences_at(tokens: numpy.ndarray, begins: numpy.ndarray) -> numpy.ndarray:
    """The first sentence that begins at each token, else the one that the token is within."""
    place = numpy.searchsorted(begins, tokens)
    return place - (begins[numpy.minimum(place, len(begins) - 1)] != tokens)


_MODULES = {
    "fairseq.data.data_utils_fast": (batch_by_size_vec, batch_by_size_fn, batch_fixed_shapes_fast),
    "fairseq.data.token_block_utils_fast": (
        _get_slice_indices_fast,
        _get_block_to_dataset_index_fast,
    ),
}


# BLEU: methods of fairseq's scorer.


def _init(self, cfg: bleu.BleuConfig) -> None:
    self.pad, self.eos, self.unk = cfg.pad, cfg.eos, cfg.unk
    self.reset()


def _reset(self, one_init: bool = False) -> None:
    self.stat = bleu.BleuStat()
    if one_init:  # smoothing: one match of each length but the first
        for size in (2, 3, 4):
            setattr(self.stat, f"match{size}", 1)
            setattr(self.stat, f"count{size}", 1)


def _add(self, ref: torch.Tensor, pred: torch.Tensor) -> None:
    """Counts the matches of an answer; an unknown word of the reference matches none.

    Args:
        ref: (n,) int32 tokens of the reference.
        pred: (m,) int32 tokens of the answer.
    """
    for name, tokens in (("ref", ref), ("pred", pred)):
        if not isinstance(tokens, torch.IntTensor):
            raise TypeError(f"{name} must be a torch.IntTensor (got {type(tokens)})")
    reference = [-999 if word == self.unk else word for word in _trimmed(ref, self.pad, self.eos)]
    answer = _trimmed(pred, self.pad, self.eos)
    self.stat.reflen += len(reference)
    self.stat.predlen += len(answer)
    for size in (1, 2, 3, 4):
        ours, theirs = (
            Counter(zip(*(words[start:] for start in range(size)))) for words in (answer, reference)
        )
        matches = sum((ours & theirs).values())
        setattr(self.stat, f"match{size}", getattr(self.stat, f"match{size}") + matches)
        setattr(self.stat, f"count{size}", getattr(self.stat, f"count{size}") + sum(ours.values()))


def _trimmed(tokens: torch.Tensor, pad: int, eos: int) -> List[int]:
    """The words between the padding; one of the closing tokens remains if nothing else does."""
    words = tokens.flatten().tolist()
    while words and words[0] == pad:
        del words[0]
    while len(words) > 1 and words[-1] in (pad, eos):
        del words[-1]
    return words
