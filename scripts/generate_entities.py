"""Generates English sentences about entities, with what they say in a formal notation.

    python scripts/generate_entities.py data/train --symbols '<ent0>..<ent4>' --size 20000

writes ``data/train.src`` (``<ent3> met <ent0> in <ent1> after <ent0> called <ent2>``) and
``data/train.tgt`` (``before ( call ( <ent0> , <ent2> ) , meet ( <ent3> , <ent0> , <ent1> )
)``). The entities are interchangeable; who did what to whom is not.
"""

import argparse
from random import Random
from typing import List, Optional, Sequence, Set, Tuple

from sit_fairseq.data.generated_files import parse_names, writing_pairs
from sit_fairseq.errors import UserError

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

# There are no more sentences when so many drawn in a row were known.
_PATIENCE = 1000


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
    add("--size", type=int, default=20000, help="number of sentences (default: %(default)s)")
    add("--seed", type=int, default=42, help="(default: %(default)s)")
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
    rng = Random(args.seed)
    seen: Set[str] = set()
    with writing_pairs(args.out_prefix) as (src, tgt):
        known = 0
        while len(seen) < args.size:
            if known == _PATIENCE:
                raise UserError(
                    f"Found only {len(seen)} distinct sentences: lower --size, or raise the "
                    "number of --symbols."
                )
            sentence, meaning = draw_sentence(rng, rng.random() < 0.8, names)
            known += 1
            if sentence not in seen:
                known = 0
                seen.add(sentence)
                src.write(sentence + "\n")
                tgt.write(meaning + "\n")
    print(f"{args.size} sentences in {args.out_prefix}.src and .tgt")


if __name__ == "__main__":
    main()
