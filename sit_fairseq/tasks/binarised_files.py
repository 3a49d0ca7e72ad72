"""Files of ``fairseq-preprocess``, looked at before fairseq maps them into memory.

fairseq trusts what an index says: of one that is cut or of another file it reads wrong sentences,
or ends in the middle of something.
"""

import os
import struct
from typing import Optional, Tuple

import numpy
from fairseq.data.huffman.huffman_mmap_indexed_dataset import HuffmanMMapIndex
from fairseq.data.indexed_dataset import (
    IndexedDataset,
    MMapIndexedDataset,
    _code_to_dtype,
    data_file_path,
    index_file_path,
)

from sit_fairseq.errors import UserError

_MAPPED, _READ = MMapIndexedDataset.Index._HDR_MAGIC, IndexedDataset._HDR_MAGIC


def check_binarised(prefix: str) -> None:
    """Compares an index with itself and with its data; other formats are left alone.

    Args:
        prefix: of ``prefix.idx`` and ``prefix.bin``. If one is missing nothing is checked.

    Raises:
        UserError: they are damaged, or do not belong together.
    """
    index, data = index_file_path(prefix), data_file_path(prefix)
    if not (os.path.isfile(index) and os.path.isfile(data)):
        return
    fault = _fault(index, os.path.getsize(data))
    if fault is not None:
        raise UserError(
            f"{prefix}.idx and .bin are damaged or do not belong together: {fault}; run "
            "fairseq-preprocess again"
        )


def _fault(index: str, size: int) -> Optional[str]:
    """What is wrong with an index of a data file of some size in bytes, None if nothing."""
    with open(index, "rb") as file:
        content = file.read()
    try:
        if content.startswith(_MAPPED):
            width, lengths, places = _mapped(content)
        elif content.startswith(_READ):
            width, lengths, places = _read(content)
        else:
            known = content.startswith(HuffmanMMapIndex._HDR_MAGIC)
            return None if known else "the index is of another kind"
    except (KeyError, ValueError, struct.error) as error:
        return f"the index is cut or of another version ({error})"
    if not len(lengths):
        return "they hold no sentence"  # nor can an empty file be mapped
    if bool((lengths < 1).any()):
        return f"sentence {int((lengths < 1).argmax()) + 1} has no token"
    ends = lengths.astype(numpy.int64).cumsum()
    if bool((places != width * (ends - lengths)).any()):
        return "the sentences do not follow each other"
    needed = width * int(ends[-1])
    return None if needed == size else f"the index needs {needed} bytes of data, there are {size}"


def _mapped(content: bytes) -> Tuple[int, numpy.ndarray, numpy.ndarray]:
    """The bytes of a token, and of each sentence its tokens and its place in bytes."""
    version, code, number = struct.unpack_from("<QBQ", content, len(_MAPPED))
    start = len(_MAPPED) + 17
    _expect(version, len(content), start + 12 * number)
    lengths = numpy.frombuffer(content, "<i4", number, start)
    return _width(code), lengths, numpy.frombuffer(content, "<i8", number, start + 4 * number)


def _read(content: bytes) -> Tuple[int, numpy.ndarray, numpy.ndarray]:
    """As :func:`_mapped`, of the format before it."""
    version, code, width, number, total = struct.unpack_from("<5Q", content, len(_READ))
    start = len(_READ) + 40
    _expect(version, len(content), start + 8 * (2 * (number + 1) + total))
    offsets = numpy.frombuffer(content, "<i8", 2 * (number + 1), start)
    lengths = numpy.frombuffer(content, "<i8", total, start + offsets.nbytes)
    if width != _width(code) or (offsets[: number + 1] != numpy.arange(number + 1)).any():
        raise ValueError("it is not of lists of tokens")
    return width, lengths, width * offsets[number + 1 : -1]


def _expect(version: int, size: int, needed: int) -> None:
    if version != 1:
        raise ValueError(f"version {version}, not 1")
    if size != needed:
        raise ValueError(f"{size} bytes, not {needed}")


def _width(code: int) -> int:
    kind = numpy.dtype(_code_to_dtype[code])
    if kind.kind not in "iu":
        raise ValueError(f"tokens of the type {kind}")
    return kind.itemsize
