"""Generates LTL formulas with traces that satisfy them.

The set-up is that of LTLRandom35 (Hahn et al. 2021): formulas of Spot's ``randltl`` over
``! & X U`` and the constants, as many of each length, satisfiable, each labelled with an
accepting run of its automaton, or with ``--labels depth-first`` as in
:mod:`sit_fairseq.logic.tableau`. ``OUT_PREFIX.src`` gets the formulas in prefix notation
(``U a & b X c``) and ``OUT_PREFIX.tgt`` the traces (``a ; & b c ; { 1 }``), one per line.
``OUT_PREFIX.timeouts`` lists the formulas that Spot was stopped at or failed on.

    python scripts/generate_ltl.py data/train --symbols 5 --size 800000
    python scripts/generate_ltl.py data/test --symbols 10 --size 10000 --seed 7 \
        --exclude data/train

No formula is a renaming of another, nor of one in the files of ``--exclude``. As many as there
are of a length, up to its share, are among the data; what short lengths lack is shared by the
others. With ``--distinct-symbols`` only lengths in which so many symbols have room are among
the data, and formulas are drawn from the distribution of ``randltl`` under the condition that
they have so many different symbols; what Spot would rewrite to a shorter one is left out (see
``generate_grid.py``).

The data of a seed depend neither on the number of workers nor on interruptions, as long
as no formula comes close to the time-out or to the memory a worker may use.
"""

import argparse
import json
import os
import sys
from collections import Counter
from contextlib import ExitStack
from itertools import islice
from random import Random
from typing import Dict, Iterator, List, NamedTuple, Optional, Sequence, Set, TextIO, Tuple

from tqdm import tqdm

from sit_fairseq.data.generated_files import (
    add_distinct_option,
    add_exclude_option,
    add_sampling_options,
    check_same_options,
    check_sampling_options,
    excluded_keys,
    length_summary,
    parse_distinct_in_formulas,
    parse_symbols,
)
from sit_fairseq.data.grid_cells import LTL_FORBIDDEN, LTL_OPERATORS
from sit_fairseq.data.sampling import FormulaSampler, SymbolRangeSampler
from sit_fairseq.errors import UserError
from sit_fairseq.files import replacing
from sit_fairseq.judging.labelling import LabelPool, SpotLabeller
from sit_fairseq.judging.spot_judge import (
    INSTALL_HINT,
    conjuncts_sorted,
    random_formulas,
    spot_installed,
    spots_own_form,
)
from sit_fairseq.logic.syntax import formula_symbols, read_sentences, tokenize
from sit_fairseq.symbols.canonical_form import form_key
from sit_fairseq.symbols.renaming import Renaming

# A round draws formulas from a seed of its own until so many are worth a label, or so
# many have been drawn. A change of either changes the data of a seed.
ROUND, DRAWS = 1000, 20000

# There are no more formulas of a length when so many drawn in a row were known or had no
# trace, or when so many draws of any length brought none of it.
PATIENCE, LONG_PATIENCE = 1000, 300000

ENDINGS = ("src", "tgt", "timeouts")


class Recipe(NamedTuple):
    """What the data depend on."""

    symbols: List[str]
    min_length: int
    max_length: int
    size: int
    seed: int
    timeout: float
    exclude: List[str]
    distinct_symbols: Optional[str]
    labels: str


class Gate:
    """Lets as many formulas of each length pass.

    What exhausted lengths leave is shared by the others.

    Args:
        lengths: the lengths there may be.
        size: number of formulas wanted in all.
    """

    def __init__(self, lengths: Sequence[int], size: int) -> None:
        self.lengths = lengths
        self.size = size
        self.counts: Counter = Counter()
        self.misses: Counter = Counter()
        self.idle: Counter = Counter()
        self.exhausted: Set[int] = set()

    def open_lengths(self) -> Dict[int, int]:
        """How many formulas of which lengths are wanted.

        Raises:
            UserError: none, though there are too few.
        """
        rest = [length for length in self.lengths if length not in self.exhausted]
        found = sum(self.counts.values())
        if not rest:
            raise UserError(
                f"Found only {found} satisfiable formulas that are neither excluded nor renamings "
                f"of each other: lower --size {self.size}, allow of longer formulas or more "
                "symbols, or take another --seed than that of the excluded files."
            )
        share = self.size - sum(self.counts[length] for length in self.exhausted)
        quota = -(-share // len(rest))
        wanted = {length: quota - self.counts[length] for length in rest}
        return {length: number for length, number in wanted.items() if number > 0}

    def accept(self, length: int) -> None:
        """Counts a sample of a length."""
        self.counts[length] += 1
        self.misses[length] = self.idle[length] = 0

    def close_round(self, wanted: Dict[int, int], draws: int) -> None:
        """Takes note of the lengths that a round of so many draws has shown to be exhausted."""
        for length in wanted:
            self.idle[length] += draws
            if self.misses[length] >= PATIENCE or self.idle[length] >= LONG_PATIENCE:
                self.exhausted.add(length)

    def state(self) -> Dict:
        """What a resumed run cannot see in the files, as JSON."""
        return {
            "misses": sorted(self.misses.items()),
            "idle": sorted(self.idle.items()),
            "exhausted": sorted(self.exhausted),
        }

    def load_state(self, state: Dict) -> None:
        """Takes the result of :meth:`state` back."""
        self.misses, self.idle = Counter(dict(state["misses"])), Counter(dict(state["idle"]))
        self.exhausted = set(state["exhausted"])


class Generation:
    """A data set in the making.

    Its files have temporary names until they are complete. A small one beside them says
    after each round how far they are valid.

    Args:
        recipe: what to generate.
        distinct: the fewest and the most different symbols of a formula, None for any number.
        prefix: what the names of the files begin with.
    """

    def __init__(self, recipe: Recipe, distinct: Optional[Tuple[int, int]], prefix: str) -> None:
        self.recipe = recipe
        self.prefix = prefix
        lengths: Sequence[int] = range(recipe.min_length, recipe.max_length + 1)
        self._renaming = Renaming({f"p{i}": symbol for i, symbol in enumerate(recipe.symbols)})
        self._sampler: Optional[SymbolRangeSampler] = None
        if distinct is not None:
            formulas = FormulaSampler(LTL_OPERATORS, len(recipe.symbols), LTL_FORBIDDEN)
            self._sampler = SymbolRangeSampler(formulas, list(self._renaming.mapping), *distinct)
            lengths = list(filter(self._sampler.feasible, lengths))
        self.gate = Gate(lengths, recipe.size)
        self.skipped: Counter = Counter()
        self.round = 0
        self.excluded = excluded_keys(recipe.exclude)
        self.seen: Set[int] = set()
        self._sizes = [0] * len(ENDINGS)

    @property
    def state_file(self) -> str:
        """Name of the file that says how far the others are valid."""
        return f"{self.prefix}.resume"

    def part(self, ending: str) -> str:
        """Temporary name of a file."""
        return f"{self.prefix}.{ending}.part"

    def resume(self) -> None:
        """Takes up what an interrupted run has left, if anything.

        Raises:
            UserError: that run had other options, or its files are damaged.
        """
        if not os.path.exists(self.state_file):
            return
        try:
            with open(self.state_file, encoding="utf-8") as file:
                state = json.load(file)
            theirs = state["recipe"]
            check_same_options(theirs, self.recipe._asdict())
            sizes = state["sizes"]
            short = any(os.path.getsize(self.part(ending)) < n for ending, n in zip(ENDINGS, sizes))
        except (OSError, ValueError, KeyError, TypeError):
            short = True
        if short:
            raise UserError(f"{self.state_file} or what it describes is damaged: omit --resume.")
        for ending, size in zip(ENDINGS, sizes):
            os.truncate(self.part(ending), size)
        self._sizes, self.round = sizes, state["round"]
        self.skipped = Counter(state["skipped"])
        self.gate.load_state(state["gate"])
        sources = read_sentences(self.part("src"))
        self.gate.counts.update(len(tokenize(source)) for source in sources)
        timed_out = [line.split("\t")[1] for line in read_sentences(self.part("timeouts"))]
        self.seen.update(map(_key, [*sources, *timed_out]))

    def save(self, files: Sequence[TextIO]) -> None:
        """Makes sure that a resumed run can start from here."""
        for file in files:
            file.flush()
        self._sizes = [os.path.getsize(self.part(ending)) for ending in ENDINGS]
        state = {
            "recipe": self.recipe._asdict(),
            "sizes": self._sizes,
            "round": self.round,
            "skipped": self.skipped,
            "gate": self.gate.state(),
        }
        with replacing(self.state_file) as (file,):
            json.dump(state, file)

    def run(self, workers: int) -> None:
        """Generates what is missing and gives the files their names.

        Args:
            workers: number of processes.
        """
        found = sum(self.gate.counts.values())
        with ExitStack() as stack:
            mode = "a" if self.round else "w"
            files = [
                stack.enter_context(open(self.part(ending), mode, encoding="utf-8", newline="\n"))
                for ending in ENDINGS
            ]
            self.save(files)
            labeller = SpotLabeller(depth_first=self.recipe.labels == "depth-first")
            pool = stack.enter_context(LabelPool(labeller, workers, self.recipe.timeout))
            bar = stack.enter_context(tqdm(total=self.recipe.size, initial=found, unit=" samples"))
            while found < self.recipe.size:
                wanted = self.gate.open_lengths()
                before, found = found, self._round(wanted, found, pool, files)
                self.save(files)
                bar.update(found - before)
        for ending in ENDINGS:
            os.replace(self.part(ending), f"{self.prefix}.{ending}")
        os.remove(self.state_file)

    def _round(
        self, wanted: Dict[int, int], found: int, pool: LabelPool, files: Sequence[TextIO]
    ) -> int:
        """Draws and labels one round of formulas; returns the number of samples there are."""
        candidates, draws = self._draw(dict(wanted))
        src, tgt, timeouts = files
        labels = pool.imap(candidates.values())
        for (key, formula), label in zip(candidates.items(), labels):
            length = len(tokenize(formula))
            if label.stopped:
                print(f"{label.fault}\t{formula}", file=timeouts)
                tqdm.write(f"{label.fault} of Spot: {formula}", file=sys.stderr)
                self.seen.add(key)
            if label.fault is not None:
                self.skipped[label.fault] += 1
                self.gate.misses[length] += 1
            elif found < self.recipe.size:
                print(formula, file=src)
                print(label.trace, file=tgt)
                self.seen.add(key)
                self.gate.accept(length)
                found += 1
        self.gate.close_round(wanted, draws)
        self.round += 1
        return found

    def _draw(self, wanted: Dict[int, int]) -> Tuple[Dict[int, str], int]:
        """Draws new formulas of wanted lengths, by key; also says how many were drawn in all."""
        candidates: Dict[int, str] = {}
        draws = 0
        for tokens in islice(self._formulas(wanted), DRAWS):
            draws += 1
            length = len(tokens)
            if wanted.get(length, 0) < 1:
                continue
            formula = " ".join(self._renaming.tokens(tokens))
            key = _key(formula)
            if key in self.seen or key in candidates or key in self.excluded:
                kind = "excluded" if key in self.excluded else "duplicates"
                self.skipped[kind] += 1
                self.gate.misses[length] += 1
                continue
            candidates[key] = formula
            wanted[length] -= 1
            if len(candidates) == ROUND:
                break
        return candidates, draws

    def _formulas(self, wanted: Dict[int, int]) -> Iterator[List[str]]:
        """Random formulas over p0, p1, ...; as long as lengths are wanted, if these are drawn."""
        seed = Random(f"{self.recipe.seed} {self.round}").getrandbits(31)
        if self._sampler is None:
            # Formulas come out no longer than drawn: do not draw what is too short anyway.
            shortest, longest = min(wanted), self.recipe.max_length
            yield from map(
                conjuncts_sorted, random_formulas(len(self.recipe.symbols), shortest, longest, seed)
            )
        else:
            rng = Random(seed)
            while any(wanted.values()):
                length = rng.choice([length for length, number in wanted.items() if number])
                tokens = spots_own_form(self._sampler.draw(rng, length))
                # A shorter one may have lost a symbol.
                yield tokens if len(tokens) == length else []


def _key(formula: str) -> int:
    """What renamings of a formula have in common."""
    tokens = tokenize(formula)
    return form_key(tokens, formula_symbols(tokens))


def check_options(args: argparse.Namespace, n_symbols: int) -> Optional[Tuple[int, int]]:
    """Refuses options that cannot be met.

    Args:
        args: the parsed options.
        n_symbols: number of symbols.

    Returns:
        The parsed ``--distinct-symbols``.

    Raises:
        UserError: one cannot.
    """
    check_sampling_options(args)
    if args.timeout <= 0:
        raise UserError(f"--timeout {args.timeout}: it must be positive.")
    if not spot_installed():
        raise UserError(f"LTL data need Spot: {INSTALL_HINT}.")
    return parse_distinct_in_formulas(args, n_symbols, least=0)


def parse_args(argv: Optional[Sequence[str]]) -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("out_prefix", metavar="OUT_PREFIX", help="write OUT_PREFIX.src, .tgt and .timeouts")
    add_sampling_options(parser)
    add(
        "--timeout",
        type=float,
        default=120.0,
        help="seconds for the label of a formula (default: %(default)s)",
    )
    add_distinct_option(parser)
    add_exclude_option(parser)
    add(
        "--labels",
        choices=["spot", "depth-first"],
        default="spot",
        help="accepting run of Spot's automaton, the rule of LTLRandom35 (default), or the trace "
        "that a walk through the formula finds first, which is learnt faster (Spot's where a short "
        "walk finds none, one in some thousand)",
    )
    add("--resume", action="store_true", help="go on where a run was interrupted, if one was")
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
    distinct = check_options(args, len(symbols))
    recipe = Recipe(
        symbols,
        args.min_length,
        args.max_length,
        args.size,
        args.seed,
        args.timeout,
        args.exclude,
        args.distinct_symbols,
        args.labels,
    )
    generation = Generation(recipe, distinct, args.out_prefix)
    try:
        os.makedirs(os.path.dirname(args.out_prefix) or ".", exist_ok=True)
        if args.resume:
            generation.resume()
        generation.run(args.workers)
    except OSError as error:
        raise UserError(f"Cannot write {args.out_prefix}.src and .tgt: {error.strerror}.")
    skipped = generation.skipped
    print(
        f"{args.size} samples in {args.out_prefix}.src and .tgt; "
        f"{skipped['timeout']} time-outs and {skipped['error']} crashes of Spot in "
        f"{args.out_prefix}.timeouts; dropped {skipped['duplicates']} duplicates, "
        f"{skipped['excluded']} excluded and {skipped['unsatisfiable']} unsatisfiable formulas, "
        f"and {skipped['zero_in_trace']} with a 0 in the trace; "
        f"{length_summary(generation.gate.counts)}"
    )


if __name__ == "__main__":
    main()
