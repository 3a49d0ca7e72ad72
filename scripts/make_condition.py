"""Makes the training conditions of the paper from existing data.

    python scripts/make_condition.py renamed data/train data/renamed
    python scripts/make_condition.py reduced data/train data/reduced --size 80000
    python scripts/make_condition.py supplemented data/train data/more data/supplemented

Each reads ``IN.src`` and ``IN.tgt`` and writes ``OUT.src`` and ``OUT.tgt``, of formulas with
assignments, formulas with traces or strings to be copied. Symbols are all tokens that are no
operators, constants or punctuation of traces.

* renamed (section on dataset perturbations): in each pair the symbols of the answer become
  a, b, c, ... (p0, p1, ... if some pair has more than 26) in the order in which they appear
  there, and those that only the source has follow in the order in which they appear in it.
  No two symbols of a pair become one.
* reduced (the same section): a random sample of the pairs, in their order.
* supplemented (appendix on imbalance in the LTL data): the pairs of IN, followed by those of
  EXTRA whose source has no or one symbol and has not occurred before.
"""

import argparse
from collections import Counter
from random import Random
from typing import Iterable, List, Optional, Sequence, Tuple

from sit_fairseq.data.generated_files import parse_symbols, read_pairs, writing_pairs
from sit_fairseq.errors import UserError
from sit_fairseq.logic.ltl import data_symbols
from sit_fairseq.logic.syntax import tokenize
from sit_fairseq.symbols.renaming import Renaming

Pair = Tuple[str, str]


def by_first_appearance(pairs: Sequence[Pair]) -> List[Pair]:
    """Renames the symbols of each pair by their first appearance, in the answer before all.

    Args:
        pairs: source and target of each pair.

    Returns:
        The renamed pairs.
    """
    orders = [data_symbols(tokenize(target) + tokenize(source)) for source, target in pairs]
    names = parse_symbols(str(max(map(len, orders), default=0)), least=0)
    renamings = [Renaming(dict(zip(symbols, names))) for symbols in orders]
    return [
        (renaming(source), renaming(target)) for renaming, (source, target) in zip(renamings, pairs)
    ]


def sample(pairs: Sequence[Pair], size: int, seed: int) -> List[Pair]:
    """Draws pairs without replacement and leaves them in their order.

    Args:
        pairs: what to draw from.
        size: how many.
        seed: the same one brings the same pairs.

    Returns:
        The pairs drawn.

    Raises:
        UserError: there are not so many.
    """
    if not 1 <= size <= len(pairs):
        raise UserError(f"--size {size}: there are {len(pairs)} pairs to draw from.")
    return [pairs[index] for index in sorted(Random(seed).sample(range(len(pairs)), size))]


def supplement(pairs: Sequence[Pair], extra: Iterable[Pair]) -> List[Pair]:
    """Adds pairs whose source has at most one symbol and is new.

    Args:
        pairs: the pairs there are.
        extra: pairs to choose from.

    Returns:
        The pairs there are, then the new ones.
    """
    result = list(pairs)
    known = {tuple(tokenize(source)) for source, _ in pairs}
    for source, target in extra:
        tokens = tuple(tokenize(source))
        if len(data_symbols(tokens)) <= 1 and tokens not in known:
            known.add(tokens)
            result.append((source, target))
    return result


def report_supplement(before: Sequence[Pair], after: Sequence[Pair]) -> str:
    """Says how many pairs there are with each number of symbols.

    Args:
        before: the pairs there were.
        after: the same and more.

    Returns:
        One line, and another for symbols that there were not before.
    """
    old, new = (
        [data_symbols(tokenize(source)) for source, _ in pairs] for pairs in (before, after)
    )
    counts, more = (Counter(map(len, lists)) for lists in (old, new))
    text = ", ".join(f"{number}: {counts[number]} -> {more[number]}" for number in sorted(more))
    text = f"pairs by number of symbols: {text}"
    strange = sorted(set().union(*new) - set().union(*old))
    return f"{text}\nsymbols that IN does not have: {' '.join(strange)}" if strange else text


def parse_args(argv: Optional[Sequence[str]]) -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    conditions = parser.add_subparsers(dest="condition", required=True)
    for name, prefixes in (
        ("renamed", ["IN", "OUT"]),
        ("reduced", ["IN", "OUT"]),
        ("supplemented", ["IN", "EXTRA", "OUT"]),
    ):
        condition = conditions.add_parser(name)
        for prefix in prefixes:
            verb = "write" if prefix == "OUT" else "read"
            condition.add_argument(prefix, help=f"{verb} {prefix}.src and {prefix}.tgt")
        if name == "reduced":
            add = condition.add_argument
            add("--size", type=int, default=80000, help="number of pairs (default: %(default)s)")
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
    pairs = read_pairs(args.IN)
    if args.condition == "renamed":
        made = by_first_appearance(pairs)
    elif args.condition == "reduced":
        made = sample(pairs, args.size, args.seed)
    else:
        made = supplement(pairs, read_pairs(args.EXTRA))
        print(report_supplement(pairs, made))
    with writing_pairs(args.OUT) as (src, tgt):
        for source, target in made:
            src.write(source + "\n")
            tgt.write(target + "\n")
    print(f"{len(made)} pairs in {args.OUT}.src and .tgt, made from {len(pairs)}")


if __name__ == "__main__":
    main()
