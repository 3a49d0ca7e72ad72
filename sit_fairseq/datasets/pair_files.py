"""Files of sentence pairs: ``PREFIX.src`` and ``PREFIX.tgt``, one sentence per line."""

import os
from random import Random
from typing import Iterable, List, Sequence, Tuple

from sit_fairseq.errors import UserError
from sit_fairseq.storage.files import read_sentences, replacing

# Source and target.
Pair = Tuple[str, str]


def source_file(name: str) -> str:
    """The file ``NAME.src`` or, where only this is there, the file of the name itself."""
    source = f"{name}.src"
    return name if os.path.isfile(name) and not os.path.exists(source) else source


def read_pairs(prefix: str) -> List[Pair]:
    """Reads the pairs of ``PREFIX.src`` and ``PREFIX.tgt``.

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


def random_pairs(pairs: Sequence[Pair], size: int, rng: Random) -> List[Pair]:
    """Draws pairs without replacement and leaves them in their order."""
    return [pairs[index] for index in sorted(rng.sample(range(len(pairs)), size))]


def write_pairs(prefix: str, pairs: Iterable[Pair]) -> None:
    """Writes ``PREFIX.src`` and ``PREFIX.tgt``, which get their names once all pairs are written;
    their folder is made if there is none. A UserError if they cannot be written."""
    with replacing(f"{prefix}.src", f"{prefix}.tgt") as (src, tgt):
        for source, target in pairs:
            src.write(source + "\n")
            tgt.write(target + "\n")
