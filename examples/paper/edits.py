"""Makes data of the paper's tables from existing pairs.

    python -m examples.paper.edits renamed data/train data/renamed
    python -m examples.paper.edits reduced data/train data/reduced --size 80000
    python -m examples.paper.edits supplemented data/train data/more data/supplemented
    python -m examples.paper.edits exchanged data/test data/exchanged --exclude data/train

Each reads ``IN.src`` and ``IN.tgt`` and writes ``OUT.src`` and ``OUT.tgt``. Symbols are all tokens
that are no operators, constants or punctuation of traces.

* renamed (section on dataset perturbations): in each pair of a formula and its answer the symbols
  become a, b, c, ... (p0, p1, ... if some pair has more than 26) as they appear in the answer and
  then in the source. Other data are refused.
* reduced (the same section): a random sample of the pairs, in their order.
* supplemented (appendix on imbalance in the LTL data): the pairs of IN, followed by those of EXTRA
  whose source has at most one symbol and has not occurred before.
* exchanged (not in the paper): in each formula the operands of each of & | <-> xor are exchanged at
  random. What is then a renaming of a line of --exclude is drawn again. Answers stay as they are.
"""

import argparse
import sys
from collections import Counter
from random import Random
from typing import Collection, Dict, Iterable, List, Sequence, Tuple

from sit_fairseq.commands._options import at_least
from sit_fairseq.datasets.options import symbol_names
from sit_fairseq.datasets.pair_files import Pair, random_pairs, read_forms, read_pairs, write_pairs
from sit_fairseq.domains.formulas.syntax import (
    CYCLE_START,
    SYMBOLS,
    TRACE_MARKS,
    check_formula,
    exchanged,
    formula_symbols,
)
from sit_fairseq.domains.ltl.traces import parse_trace
from sit_fairseq.domains.prop.propositional import parse_assignment
from sit_fairseq.errors import MalformedAnswer, MalformedFormula, UserError, advised
from sit_fairseq.evaluation import plots
from sit_fairseq.symbols.canonical_form import form_key
from sit_fairseq.symbols.pattern import SymbolPattern
from sit_fairseq.symbols.renaming import Renaming

# How often a formula is drawn again; then it stays as it was.
_DRAWS = 100


def data_symbols(tokens: Sequence[str]) -> List[str]:
    """The symbols of a formula, an assignment or a trace, by first appearance."""
    return [symbol for symbol in formula_symbols(tokens) if symbol not in TRACE_MARKS]


def by_first_appearance(pairs: Sequence[Pair]) -> List[Pair]:
    """Renames the symbols of each pair to a, b, c, ... by their first appearance, in the answer
    before the source; no two symbols of a pair become one.

    Raises:
        UserError: a pair is neither a formula with a trace or an assignment nor a string and its
            copy, so that its words need not be symbols.
    """
    for number, (source, target) in enumerate(pairs, start=1):
        answer = target.split()
        try:
            if source != target:
                check_formula(source.split())
                parse_trace(answer) if CYCLE_START in answer else parse_assignment(answer)
        except (MalformedFormula, MalformedAnswer) as error:
            raise UserError(
                f"line {number} is no formula in prefix notation with an answer ({error}); sit "
                "rename renames the symbols of other data"
            )
    orders = [data_symbols(target.split() + source.split()) for source, target in pairs]
    names = symbol_names(max(map(len, orders), default=0))
    renamings = [Renaming(dict(zip(symbols, names))) for symbols in orders]
    return [
        (renaming(source), renaming(target)) for renaming, (source, target) in zip(renamings, pairs)
    ]


def supplement(pairs: Sequence[Pair], extra: Iterable[Pair]) -> List[Pair]:
    """The pairs, and those of the extra pairs whose source is new and has at most one symbol."""
    result = list(pairs)
    known = {tuple(source.split()) for source, _ in pairs}
    for source, target in extra:
        tokens = tuple(source.split())
        if len(data_symbols(tokens)) <= 1 and tokens not in known:
            known.add(tokens)
            result.append((source, target))
    return result


def with_operands_exchanged(
    pairs: Sequence[Pair], excluded: Collection[int], rng: Random
) -> Tuple[List[Pair], int]:
    """Exchanges the operands of commutative operators at random in the source of each pair.

    A source whose key (:func:`~sit_fairseq.symbols.canonical_form.form_key`) is ``excluded`` is drawn
    again. Returns the pairs, and of how many that was so.
    """
    result, refused = [], 0
    for source, target in pairs:
        for draw in range(_DRAWS):
            tokens = exchanged(source.split(), rng)
            if form_key(tokens, formula_symbols(tokens)) not in excluded:
                source = " ".join(tokens)
                break
            refused += draw == 0
        result.append((source, target))
    return result, refused


def numbers_of_symbols(pairs: Sequence[Pair]) -> Dict[int, int]:
    """Number of pairs by the number of symbols of their source."""
    return Counter(len(data_symbols(source.split())) for source, _ in pairs)


def draw_histograms(counts: Dict[str, Dict[int, int]], path: str) -> None:
    """Draws the samples by their number of symbols, of each data set by its name, as a PNG file."""
    figure = plots.new_figure(7.0, 3.4)
    axes = figure.add_subplot()
    numbers = sorted(set().union(*counts.values()))
    width = 0.8 / len(counts)
    for place, (name, found) in enumerate(counts.items()):
        left = [number + width * (place - (len(counts) - 1) / 2) for number in numbers]
        bars = axes.bar(left, [found.get(number, 0) for number in numbers], width, label=name)
        axes.bar_label(bars, fontsize="x-small", rotation=90, padding=2)
    axes.set_yscale("log")
    axes.margins(y=0.25)
    axes.set_xticks(numbers)
    axes.set_title("Samples by number of symbols", fontsize="medium")
    axes.set_xlabel("different symbols in a sample")
    axes.set_ylabel("samples")
    axes.legend()
    plots.save_png(figure, path)


def main() -> None:
    """Reads the command line and does what it says."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    edits = parser.add_subparsers(dest="edit", required=True)
    made_from = {"renamed": "IN", "reduced": "IN", "supplemented": "IN EXTRA", "exchanged": "IN"}
    for name, reads in made_from.items():
        add = edits.add_parser(name).add_argument
        for prefix in reads.split():
            add(prefix, help=f"read {prefix}.src and {prefix}.tgt")
        add("OUT", help="write OUT.src and OUT.tgt")
        if name == "reduced":
            size_help = "number of pairs (default: %(default)s)"
            add("--size", type=at_least(1), default=80000, help=size_help)
        if name in ("reduced", "exchanged"):
            add("--seed", type=int, default=42, help="(default: %(default)s)")
        if name == "exchanged":
            exclude_help = "files, or prefixes of data sets, that no formula may be a renaming of"
            add("--exclude", nargs="+", default=[], metavar="FILE", help=exclude_help)
        if name == "supplemented":
            figure_help = "draw histograms of the numbers of symbols, as PNG"
            add("--figure", metavar="FILE", help=figure_help)
    args = parser.parse_args()
    figure = getattr(args, "figure", None)
    if figure is not None:
        plots.require_matplotlib()
    pairs = read_pairs(args.IN)
    if args.edit == "renamed":
        made = by_first_appearance(pairs)
    elif args.edit == "supplemented":
        made = supplement(pairs, read_pairs(args.EXTRA))
    elif args.edit == "exchanged":
        pattern = SymbolPattern(SYMBOLS)
        excluded = {key for name in args.exclude for _, key in read_forms(name, pattern)}
        made, refused = with_operands_exchanged(pairs, excluded, Random(args.seed))
        print(f"{refused} were drawn again, as they were renamings of what is excluded")
    elif args.size > len(pairs):
        raise UserError(f"there are {len(pairs)} pairs, not {args.size}", "size")
    else:
        made = random_pairs(pairs, args.size, Random(args.seed))
    write_pairs(args.OUT, made)
    print(f"{len(made)} pairs in {args.OUT}.src and .tgt, made from {len(pairs)}")
    if args.edit == "supplemented":
        before, after = numbers_of_symbols(pairs), numbers_of_symbols(made)
        counts = (f"{number}: {before[number]} -> {after[number]}" for number in sorted(after))
        print("pairs by number of symbols:", ", ".join(counts))
        if figure is not None:
            draw_histograms({"before": before, "after": after}, figure)


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        sys.exit(advised(str(error)))
