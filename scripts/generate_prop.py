"""Generates propositional formulas with satisfying partial assignments.

The set-up is that of PropRandom35 (Hahn et al. 2021): random formulas, as many of each
length, satisfiable and no tautologies, each with one partial assignment that implies
it. ``OUT_PREFIX.src`` gets the formulas in prefix notation (``& a ! b``) and
``OUT_PREFIX.tgt`` the assignments (``a 1 b 0``), one per line. ``--labels`` changes the
assignments alone, not the formulas.

    python scripts/generate_prop.py data/train --symbols 5 --size 800000
    python scripts/generate_prop.py data/test --symbols 10 --size 10000 --seed 7 \
        --exclude data/train

No formula is a renaming of another, nor of one in the files of ``--exclude``. Lengths are drawn
uniformly and known formulas dropped, so there are few of the shortest: of 1, 2, 3, 4, 5 and 6
tokens there are 1, 1, 19, 51, 737 and 3193. With ``--distinct-symbols`` a length is drawn among
those in which so many symbols have room, then a formula from the same distribution as without,
under the condition that it has so many different symbols.
"""

import argparse
from collections import Counter
from functools import lru_cache, partial
from itertools import chain, count
from random import Random
from typing import Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from tqdm import tqdm

from sit_fairseq.data.generated_files import (
    add_distinct_option,
    add_exclude_option,
    add_sampling_options,
    check_sampling_options,
    excluded_keys,
    in_order,
    length_summary,
    parse_distinct_in_formulas,
    parse_symbols,
    unique_samples,
    writing_pairs,
)
from sit_fairseq.data.sampling import FormulaSampler, SymbolRangeSampler
from sit_fairseq.errors import UserError
from sit_fairseq.judging.aiger_judge import INSTALL_HINT, aiger_assignment, aiger_installed
from sit_fairseq.logic.depth_first import depth_first_answer
from sit_fairseq.logic.propositional import (
    MAX_VARIABLES,
    RANDOM_OPERATORS,
    assignment_text,
    is_contingent,
    random_formula,
    smallest_answer,
)
from sit_fairseq.logic.syntax import tokenize

# Samples are drawn in chunks of this size, each from its own seed: what they are does
# not depend on who draws them. A change of it changes the data of a seed.
CHUNK = 100


def aiger_answer(tokens: Sequence[str]) -> str:
    """Labels a satisfiable formula by the rule of PropRandom35, which names matter to.

    Args:
        tokens: the formula in prefix notation.

    Returns:
        The assignment as in a data set.
    """
    return assignment_text(aiger_assignment(tokens))


LABELS: Dict[str, Callable[[Sequence[str]], str]] = {
    "smallest": smallest_answer,
    "depth-first": depth_first_answer,
    "aiger": aiger_answer,
}


class Recipe(NamedTuple):
    """What a chunk of samples depends on, apart from its number."""

    symbols: Tuple[str, ...]
    min_length: int
    max_length: int
    seed: int
    labels: str
    distinct: Optional[Tuple[int, int]]


@lru_cache(maxsize=1)
def drawing(recipe: Recipe) -> Tuple[Sequence[int], Callable[[Random, int], List[str]]]:
    """How formulas are drawn; once per process.

    Args:
        recipe: what to draw.

    Returns:
        The lengths there can be, and what draws a formula of one of them.
    """
    lengths = range(recipe.min_length, recipe.max_length + 1)
    if recipe.distinct is None:
        return lengths, partial(random_formula, symbols=recipe.symbols)
    formulas = FormulaSampler(RANDOM_OPERATORS, len(recipe.symbols), {})
    sampler = SymbolRangeSampler(formulas, recipe.symbols, *recipe.distinct)
    return list(filter(sampler.feasible, lengths)), sampler.draw


def draw_sample(recipe: Recipe, rng: Random) -> Tuple[str, str]:
    """Draws a length uniformly, then formulas of it until one is contingent.

    Args:
        recipe: what to draw.
        rng: the source of randomness.

    Returns:
        The formula and its assignment.
    """
    lengths, draw = drawing(recipe)
    length = rng.choice(lengths)
    formula = draw(rng, length)
    while not is_contingent(formula):
        formula = draw(rng, length)
    return " ".join(formula), LABELS[recipe.labels](formula)


def draw_chunk(recipe: Recipe, number: int) -> List[Tuple[str, str]]:
    """Draws one chunk of samples.

    Args:
        recipe: what to draw.
        number: number of the chunk.

    Returns:
        Source and target lines.
    """
    rng = Random(f"{recipe.seed} {number}")
    return [draw_sample(recipe, rng) for _ in range(CHUNK)]


def check_options(args: argparse.Namespace, symbols: Sequence[str]) -> Optional[Tuple[int, int]]:
    """Refuses options that cannot be met.

    Args:
        args: the parsed options.
        symbols: the parsed ``--symbols``.

    Returns:
        The parsed ``--distinct-symbols``.

    Raises:
        UserError: one cannot.
    """
    check_sampling_options(args)
    if not symbols:
        raise UserError(
            f"--symbols {args.symbols}: a formula without symbols is a tautology or unsatisfiable, "
            "and neither is among the data: name at least one symbol."
        )
    distinct = parse_distinct_in_formulas(args, len(symbols))
    most = distinct[1] if distinct else min(len(symbols), (args.max_length + 1) // 2)
    if most > MAX_VARIABLES:
        raise UserError(
            f"A formula of {args.max_length} tokens may have {most} symbols, too many for a truth "
            f"table: lower --max-length to {2 * MAX_VARIABLES} or --symbols to {MAX_VARIABLES}."
        )
    if args.labels == "aiger" and not aiger_installed():
        raise UserError(
            f"--labels aiger needs py-aiger-sat: {INSTALL_HINT}, or use --labels smallest."
        )
    return distinct


def parse_args(argv: Optional[Sequence[str]]) -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("out_prefix", metavar="OUT_PREFIX", help="write OUT_PREFIX.src and OUT_PREFIX.tgt")
    add_sampling_options(parser)
    add_distinct_option(parser)
    add_exclude_option(parser)
    add(
        "--labels",
        choices=list(LABELS),
        default="smallest",
        help="a smallest assignment (default), or the first that a walk through the formula finds "
        "(see sit_fairseq/logic/depth_first.py), which is learnt much faster, both renamed with "
        "the formula; or the rule of PropRandom35, hundreds of times slower and not reproducible",
    )
    return parser.parse_args(argv)


def main(argv: Optional[Sequence[str]] = None) -> None:
    """Runs the script.

    Args:
        argv: the command line, without the program's name; None for the real one.

    Raises:
        UserError: an option or a file cannot be used.
    """
    args = parse_args(argv)
    symbols = parse_symbols(args.symbols, least=0)
    distinct = check_options(args, symbols)
    excluded = excluded_keys(args.exclude)
    recipe = Recipe(
        tuple(symbols), args.min_length, args.max_length, args.seed, args.labels, distinct
    )
    skipped: Counter = Counter()
    lengths: Counter = Counter()
    chunks = in_order(partial(draw_chunk, recipe), count(), args.workers)
    try:
        with writing_pairs(args.out_prefix) as (src, tgt):
            drawn = chain.from_iterable(chunks)
            samples = unique_samples(drawn, args.size, excluded, skipped)
            for source, target in tqdm(samples, total=args.size, unit=" samples"):
                src.write(source + "\n")
                tgt.write(target + "\n")
                lengths[len(tokenize(source))] += 1
    except RecursionError:
        raise UserError(
            f"A formula of up to {args.max_length} tokens is too deep for py-aiger: lower "
            "--max-length, or use --labels smallest."
        )
    finally:
        chunks.close()
    print(
        f"{args.size} samples in {args.out_prefix}.src and .tgt; dropped "
        f"{skipped['duplicates']} duplicates and {skipped['excluded']} excluded formulas; "
        f"{length_summary(lengths)}"
    )


if __name__ == "__main__":
    main()
