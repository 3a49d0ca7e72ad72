"""English sentences about entities with their meaning in a formal notation, drawn at random.

``sit generate entities --help`` says what the data are.
"""

from collections import Counter
from itertools import repeat
from random import Random
from typing import List, Optional, Sequence, Tuple

from sit_fairseq.datasets.drawing import Drawn, excluded_keys, unique_pairs
from sit_fairseq.datasets.pair_files import Pair, write_pairs
from sit_fairseq.errors import UserError
from sit_fairseq.logic.syntax import read_sentences, tokenize

# Ways to say an event, with its formal notation; A, B and C are distinct entities.
_EVENTS: List[Tuple[List[str], str]] = [
    (["A met B in C", "in C , A met B"], "meet ( A , B , C )"),
    (["A called B", "B was called by A"], "call ( A , B )"),
    (["A gave B to C", "A gave C B", "B was given to C by A"], "give ( A , B , C )"),
    (["A visited B", "B was visited by A"], "visit ( A , B )"),
    (["A sold B to C", "C bought B from A"], "sell ( A , B , C )"),
    (["A did not like B", "B was not liked by A"], "not ( like ( A , B ) )"),
    (["A slept"], "sleep ( A )"),
]
# Ways to join two events X and Y.
_JOINS: List[Tuple[List[str], str]] = [
    (["X before Y", "Y after X", "after X , Y"], "before ( X , Y )"),
    (["Y because X", "X , therefore Y"], "cause ( X , Y )"),
    (["X while Y"], "while ( X , Y )"),
]

_PARTS = ("A", "B", "C", "X", "Y")
# The most entities of a sentence.
MOST_ENTITIES = 6
# All words that are no entities.
_WORDS = {
    word
    for forms, meaning in (*_EVENTS, *_JOINS)
    for text in (*forms, meaning)
    for word in tokenize(text)
    if word not in _PARTS
}


def entities(tokens: Sequence[str]) -> List[str]:
    """Lists the entities of a sentence, whatever they are called.

    Args:
        tokens: the sentence or its meaning.

    Returns:
        Each entity once, in order of first appearance.
    """
    return list(dict.fromkeys(token for token in tokens if token not in _WORDS))


def draw_sentence(rng: Random, joined: bool, names: Sequence[str]) -> Pair:
    """Draws a sentence and its meaning.

    Args:
        rng: source of randomness.
        joined: whether it tells of two events or of one.
        names: at least three entities.

    Returns:
        The sentence and its formal notation, tokens separated by spaces.
    """
    if joined:
        forms, meaning = rng.choice(_JOINS)
        parts = {part: draw_sentence(rng, False, names) for part in "XY"}
    else:
        forms, meaning = rng.choice(_EVENTS)
        parts = dict(zip("ABC", ((name, name) for name in rng.sample(names, 3))))
    sentence = " ".join(parts[t][0] if t in parts else t for t in rng.choice(forms).split())
    return sentence, " ".join(parts[t][1] if t in parts else t for t in meaning.split())


def generate_entities(
    names: Sequence[str],
    distinct: Optional[Tuple[int, int]],
    size: int,
    seed: int,
    exclude: Sequence[str],
    prefix: str,
) -> Drawn:
    """Generates a data set.

    Args:
        names: the entities.
        distinct: the fewest and the most different ones of a sentence, None for any number.
        size: number of pairs.
        seed: the same one brings the same pairs.
        exclude: files, or prefixes of pairs of files, of whose sources no sentence may be a
            renaming.
        prefix: names the files ``PREFIX.src`` and ``PREFIX.tgt``.

    Returns:
        How many pairs were written and left out.

    Raises:
        UserError: that cannot be done, or a file cannot be used.
    """
    if len(names) < 3 or size < 1:
        raise UserError(
            f"--symbols {','.join(names)} --size {size}: at least three entities and one sentence "
            "are needed"
        )
    for name in names:
        if name in _WORDS:
            raise UserError(f"--symbols {','.join(names)}: {name!r} is a word of the sentences.")
    excluded = excluded_keys(exclude, read_sentences, entities)
    rng = Random(seed)
    drawn = (draw_sentence(rng, rng.random() < 0.8, names) for _ in repeat(None))
    if distinct is not None:
        fewest, most = distinct
        drawn = (pair for pair in drawn if fewest <= len(entities(tokenize(pair[0]))) <= most)
    skipped: Counter = Counter()
    lengths = write_pairs(prefix, unique_pairs(drawn, size, excluded, skipped, entities))
    return Drawn(lengths, skipped)
