"""NumPy versions of fairseq's compiled parts, for a fairseq that was installed without a compiler.

``data_utils_fast`` groups sentences into batches, ``token_block_utils_fast`` cuts a text into blocks for
language modelling, ``libbleu`` serves ``--scoring bleu``. Arguments and results are those of fairseq.
Its other two, ``libnat`` and ``libbase``, serve models that are not autoregressive and layers of experts.
A million sentences take 0.2 s.

The plug-in provides them. ``python -m sit_fairseq.tasks.compiled_parts`` writes modules that do so into
fairseq's folder, for commands without ``--user-dir``, as ``fairseq-score``.
"""

import sys
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Callable, List, Optional

import fairseq
import numpy
import torch
from fairseq.scoring import bleu
from numpy import ndarray

from sit_fairseq.errors import UserError
from sit_fairseq.storage.files import replacing


def provide() -> None:
    """Puts the versions of this module where compiled parts are missing."""
    for name, functions in _MODULES.items():
        if name not in sys.modules and find_spec(name) is None:
            module = ModuleType(name, __doc__)
            vars(module).update({function.__name__: function for function in functions})
            sys.modules[name] = module
    if find_spec("fairseq.libbleu") is None:
        count_bleu()


def count_bleu() -> None:
    """Replaces the methods of fairseq's scorer that a library computes."""
    bleu.Scorer.__init__, bleu.Scorer.reset, bleu.Scorer.add = _init, _reset, _add


def write(folder: Path) -> None:
    """Writes modules that stand where compiled parts are missing into the folder of ``fairseq``."""
    for name, functions in {**_MODULES, "fairseq.libbleu": (count_bleu,)}.items():
        if find_spec(name) is None:
            names = ", ".join(function.__name__ for function in functions)
            text = f"from sit_fairseq.tasks.compiled_parts import {names}\n"
            if functions == (count_bleu,):
                text += "\ncount_bleu()\n__file__ = None  # the library that fairseq loads then\n"
            path = folder.joinpath(*name.split(".")[1:]).with_suffix(".py")
            with replacing(str(path)) as (file,):
                file.write(text)


def batch_by_size_vec(
    indices: ndarray, num_tokens_vec: ndarray, max_tokens: int, max_sentences: int, bsz_mult: int
) -> List[ndarray]:
    """Groups neighbouring sentences into batches as large as the limits allow.

    Limits that are not positive are none. A batch has fewer than ``bsz_mult`` sentences or a
    multiple of it, where the limits allow. An AssertionError if a sentence exceeds ``max_tokens``.
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
    indices: ndarray, num_tokens_fn: Callable[[int], int], *limits: int
) -> List[ndarray]:
    """:func:`batch_by_size_vec` with a function that gives a sentence's length."""
    lengths = numpy.array([num_tokens_fn(index) for index in indices.tolist()], dtype=numpy.int64)
    return batch_by_size_vec(indices, lengths, *limits)


def batch_fixed_shapes_fast(*unused: object) -> None:
    """Refuses: only fairseq's compiled part groups sentences by fixed shapes."""
    raise UserError(
        "batches of fixed shapes need fairseq's compiled parts; install a compiler first"
    )


def _get_slice_indices_fast(
    sizes: ndarray, break_mode: Optional[str], block_size: int, document_sep_len: int
) -> ndarray:
    """Cuts a text of sentences into blocks: (blocks, 2) first token of each and the one after its last.

    ``none`` cuts after ``block_size`` tokens, ``complete`` and ``complete_doc`` after the last sentence
    that fits, ``complete_doc`` also at sentences of ``document_sep_len``, ``eos`` after each sentence.
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
    documents = break_mode == "complete_doc"
    smallest = 1 if documents else 0  # a document of one token is its end
    blocks, start, end = [], 0, 0
    for size in sizes.tolist():
        separates = documents and size == document_sep_len
        if separates or (end > start and end - start + size > block_size):
            blocks.append((start, end))
            start = end
        end += size
        if separates:
            start = end
    blocks = [(first, last) for first, last in (*blocks, (start, end)) if last - first > smallest]
    return numpy.array(blocks, dtype=numpy.int64).reshape(-1, 2)


def _get_block_to_dataset_index_fast(sizes: ndarray, slice_indices: ndarray) -> ndarray:
    """(blocks, 3) the sentence with the first token of each block, the place of the token in it, and
    the sentence with the last token."""
    begins = sizes.cumsum() - sizes

    def sentences_at(tokens: ndarray) -> ndarray:
        """The first sentence that begins at each token, else the one that the token is within."""
        place = numpy.searchsorted(begins, tokens)
        return place - (begins[numpy.minimum(place, len(begins) - 1)] != tokens)

    starts, stops = slice_indices.T
    first = sentences_at(starts)
    last = numpy.where(stops > starts, sentences_at(stops - 1), first)
    return numpy.stack([first, starts - begins[first], last], 1)


_MODULES = {
    "fairseq.data.data_utils_fast": (batch_by_size_vec, batch_by_size_fn, batch_fixed_shapes_fast),
    "fairseq.data.token_block_utils_fast": (
        _get_slice_indices_fast,
        _get_block_to_dataset_index_fast,
    ),
}


# Methods of fairseq's scorer of BLEU.


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
    """Counts the matches of (m,) tokens with a reference, whose unknown words match none."""
    reference = [-999 if word == self.unk else word for word in _trimmed(ref, self.pad, self.eos)]
    answer = _trimmed(pred, self.pad, self.eos)
    self.stat.reflen += len(reference)
    self.stat.predlen += len(answer)
    for size in (1, 2, 3, 4):
        ours, theirs = (
            Counter(zip(*(words[start:] for start in range(size)))) for words in (answer, reference)
        )
        for name, number in (("match", ours & theirs), ("count", ours)):
            counted = getattr(self.stat, f"{name}{size}") + sum(number.values())
            setattr(self.stat, f"{name}{size}", counted)


def _trimmed(tokens: torch.Tensor, pad: int, eos: int) -> List[int]:
    """The words between the padding; one of the closing tokens remains if nothing else does."""
    words = tokens.flatten().tolist()
    while words and words[0] == pad:
        del words[0]
    while len(words) > 1 and words[-1] in (pad, eos):
        del words[-1]
    return words


if __name__ == "__main__":
    write(Path(fairseq.__path__[0]))
