"""Files of sentence pairs: ``PREFIX.src`` and ``PREFIX.tgt``, one sentence per line."""

import os
from random import Random
from typing import Callable, Iterable, Iterator, List, Optional, Sequence, Tuple

from sit_fairseq.errors import MalformedFormula, UserError
from sit_fairseq.storage.files import read_sentences, replacing
from sit_fairseq.symbols.canonical_form import form_key
from sit_fairseq.symbols.pattern import SymbolPattern

# Source and target.
Pair = Tuple[str, str]


def source_file(name: str) -> str:
    """The file ``NAME.src`` or, where only this is there, the file of the name itself."""
    source = f"{name}.src"
    return name if os.path.isfile(name) and not os.path.exists(source) else source


def read_forms(
    name: str, pattern: SymbolPattern, check: Optional[Callable[[str], None]] = None
) -> Iterator[Tuple[List[str], int]]:
    """Yields the tokens of each line of a file or of ``NAME.src``, with their
    :func:`~sit_fairseq.symbols.canonical_form.form_key`; a UserError if the file or a line cannot
    be read, which ``check`` tells by a MalformedFormula."""
    path = source_file(name)
    for number, line in enumerate(read_sentences(path), start=1):
        try:
            if check is not None:
                check(line)
        except MalformedFormula as error:
            raise UserError(f"Line {number} of {path} is malformed: {error}.")
        tokens = line.split()
        yield tokens, form_key(tokens, pattern.symbols(tokens), pattern)


def read_pairs(prefix: str) -> List[Pair]:
    """Reads the pairs of ``PREFIX.src`` and ``PREFIX.tgt``; a UserError if a file cannot be read,
    or one has more lines than the other."""
    sources, targets = (read_sentences(f"{prefix}.{side}") for side in ("src", "tgt"))
    if len(sources) != len(targets):
        counts = f"{prefix}.src has {len(sources)} lines but .tgt has {len(targets)}"
        raise UserError(f"{counts}; give files whose lines belong together.")
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
