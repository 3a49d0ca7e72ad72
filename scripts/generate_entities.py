"""Generates English sentences about entities, with what they say in a formal notation.

    python scripts/generate_entities.py data/train --symbols '<ent0>..<ent4>' --size 10000

writes ``data/train.src`` (``<ent3> met <ent0> in <ent1> after <ent0> called <ent2>``) and
``data/train.tgt`` (``before ( call ( <ent0> , <ent2> ) , meet ( <ent3> , <ent0> , <ent1> )
)``). The entities are interchangeable; who did what to whom is not. No sentence is a renaming
of another, nor of one in the files of ``--exclude``; there are some 18,000 such sentences.
"""

import argparse
from collections import Counter
from itertools import repeat
from random import Random
from typing import List, Optional, Sequence, Tuple

from sit_fairseq.data.generated_files import (
    add_exclude_option,
    excluded_keys,
    parse_names,
    unique_samples,
    writing_pairs,
)
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


def draw_sentence(rng: Random, joined: bool, names: Sequence[str]) -> Tuple[str, str]:
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


def parse_args(argv: Optional[Sequence[str]]) -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("out_prefix", metavar="OUT_PREFIX", help="write OUT_PREFIX.src and OUT_PREFIX.tgt")
    add("--symbols", default="<ent0>..<ent4>", help="names of entities (default: %(default)s)")
    add("--size", type=int, default=10000, help="number of sentences (default: %(default)s)")
    add("--seed", type=int, default=42, help="(default: %(default)s)")
    add_exclude_option(parser)
    return parser.parse_args(argv)


def main(argv: Optional[Sequence[str]] = None) -> None:
    """Runs the script.

    Args:
        argv: the command line, without the program's name; None for the real one.

    Raises:
        UserError: an option or a file cannot be used.
    """
    args = parse_args(argv)
    names = parse_names(args.symbols)
    if len(names) < 3 or args.size < 1:
        raise UserError(
            f"--symbols {args.symbols} --size {args.size}: at least three entities and one "
            "sentence are needed"
        )
    for name in names:
        if name in _WORDS:
            raise UserError(f"--symbols {args.symbols}: {name!r} is a word of the sentences.")
    excluded = excluded_keys(args.exclude, read_sentences, entities)
    rng = Random(args.seed)
    drawn = (draw_sentence(rng, rng.random() < 0.8, names) for _ in repeat(None))
    skipped: Counter = Counter()
    with writing_pairs(args.out_prefix) as (src, tgt):
        for sentence, meaning in unique_samples(drawn, args.size, excluded, skipped, entities):
            src.write(sentence + "\n")
            tgt.write(meaning + "\n")
    print(
        f"{args.size} sentences in {args.out_prefix}.src and .tgt; dropped "
        f"{skipped['duplicates']} duplicates and {skipped['excluded']} excluded sentences"
    )


if __name__ == "__main__":
    main()
