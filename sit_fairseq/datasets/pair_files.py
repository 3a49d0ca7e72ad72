"""Files of sentence pairs: ``PREFIX.src`` and ``PREFIX.tgt``, one sentence per line."""

import os
from collections import Counter
from typing import Iterable, List, Tuple

from sit_fairseq.errors import UserError
from sit_fairseq.logic.syntax import read_sentences, tokenize
from sit_fairseq.storage.files import replacing

# Source and target.
Pair = Tuple[str, str]


def source_file(name: str) -> str:
    """The file that a prefix of sentence pairs, or the name of a file, stands for.

    Args:
        name: the prefix or the name.

    Returns:
        The name itself if there is such a file and no ``NAME.src``, else ``NAME.src``.
    """
    source = f"{name}.src"
    return name if os.path.isfile(name) and not os.path.exists(source) else source


def read_pairs(prefix: str) -> List[Pair]:
    """Reads sentence pairs.

    Args:
        prefix: names the files ``PREFIX.src`` and ``PREFIX.tgt``.

    Returns:
        Source and target of each pair.

    Raises:
        UserError: a file cannot be read, or one has more lines than the other.
    """
    sources, targets = (read_sentences(f"{prefix}.{side}") for side in ("src", "tgt"))
    if len(sources) != len(targets):
        raise UserError(
            f"{prefix}.src has {len(sources)} lines but .tgt has {len(targets)}; "
            "give files whose lines belong together."
        )
    return list(zip(sources, targets))


def write_pairs(prefix: str, pairs: Iterable[Pair]) -> Counter:
    """Writes sentence pairs; the files get their names once all are written.

    Args:
        prefix: names the files ``PREFIX.src`` and ``PREFIX.tgt``; their folder is made if there
            is none.
        pairs: the pairs.

    Returns:
        How many sources have which number of tokens.

    Raises:
        UserError: the files cannot be written.
    """
    lengths: Counter = Counter()
    try:
        os.makedirs(os.path.dirname(prefix) or ".", exist_ok=True)
        with replacing(f"{prefix}.src", f"{prefix}.tgt") as (src, tgt):
            for source, target in pairs:
                src.write(source + "\n")
                tgt.write(target + "\n")
                lengths[len(tokenize(source))] += 1
    except OSError as error:
        raise UserError(f"Cannot write {prefix}.src and .tgt: {error.strerror}.")
    return lengths
