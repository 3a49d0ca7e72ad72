"""English sentences about entities, with their meaning in a formal notation.

    python -m examples.entities.sentences outputs/entities/data

writes DIR/train.src, DIR/train.tgt and so on, lines such as

    <ent3> met <ent0> in <ent1> after <ent0> called <ent2>
    before ( call ( <ent0> , <ent2> ) , meet ( <ent3> , <ent0> , <ent1> ) )

Entities are interchangeable; who did what to whom is not. There are some 18,000 such sentences.
"""

from random import Random
from typing import Iterable, Iterator, List, Sequence, Tuple

from examples.script import run
from sit_fairseq.datasets.pair_files import Pair, write_pairs
from sit_fairseq.symbols.canonical_form import form_key
from sit_fairseq.symbols.pattern import SymbolPattern

PATTERN = SymbolPattern("<ent[0-9]+>")
FEW = [f"<ent{number}>" for number in range(4)]
UNSEEN = [f"<ent{number}>" for number in range(10, 30)]
# Pairs, seed, names, and fewest and most entities of a sentence. No sentence of the others is a
# renaming of one in training.
SPLITS = {
    "train": (8000, 1, FEW, 1, 4),
    "valid": (500, 2, FEW, 1, 4),
    "test": (500, 3, FEW, 1, 4),
    "unseen": (500, 4, UNSEEN, 1, 4),
    "more": (500, 5, UNSEEN, 5, 6),
}

# Ways to say an event, with its formal notation; A, B and C are distinct entities.
EVENTS: List[Tuple[List[str], str]] = [
    (["A met B in C", "in C , A met B"], "meet ( A , B , C )"),
    (["A called B", "B was called by A"], "call ( A , B )"),
    (["A gave B to C", "A gave C B", "B was given to C by A"], "give ( A , B , C )"),
    (["A visited B", "B was visited by A"], "visit ( A , B )"),
    (["A sold B to C", "C bought B from A"], "sell ( A , B , C )"),
    (["A did not like B", "B was not liked by A"], "not ( like ( A , B ) )"),
    (["A slept"], "sleep ( A )"),
]
# Ways to join two events X and Y.
JOINS: List[Tuple[List[str], str]] = [
    (["X before Y", "Y after X", "after X , Y"], "before ( X , Y )"),
    (["Y because X", "X , therefore Y"], "cause ( X , Y )"),
    (["X while Y"], "while ( X , Y )"),
]


def draw(rng: Random, joined: bool, names: Sequence[str]) -> Pair:
    """Draws a sentence of two joined events or of one, and its meaning."""
    if joined:
        forms, meaning = rng.choice(JOINS)
        parts = {part: draw(rng, False, names) for part in "XY"}
    else:
        forms, meaning = rng.choice(EVENTS)
        parts = dict(zip("ABC", ((name, name) for name in rng.sample(names, 3))))
    sentence = " ".join(parts[t][0] if t in parts else t for t in rng.choice(forms).split())
    return sentence, " ".join(parts[t][1] if t in parts else t for t in meaning.split())


def key(sentence: str) -> int:
    """A key that all renamings of a sentence share."""
    return form_key(sentence.split(), PATTERN.symbols(sentence.split()))


def sentences(
    size: int, seed: int, names: Sequence[str], fewest: int, most: int, exclude: Iterable[int] = ()
) -> Iterator[Pair]:
    """Pairs of which none is a renaming of another, nor has a key of ``exclude``."""
    rng, known, found = Random(seed), set(exclude), 0
    while found < size:
        pair = draw(rng, rng.random() < 0.8, names)
        number = len(PATTERN.symbols(pair[0].split()))
        if fewest <= number <= most and key(pair[0]) not in known:
            known.add(key(pair[0]))
            found += 1
            yield pair


def main(folder: str) -> None:
    """Writes the splits."""
    train: List[int] = []
    for split, recipe in SPLITS.items():
        pairs = list(sentences(*recipe, exclude=train))
        write_pairs(f"{folder}/{split}", pairs)
        train = train or [key(source) for source, _ in pairs]


if __name__ == "__main__":
    run(main)
