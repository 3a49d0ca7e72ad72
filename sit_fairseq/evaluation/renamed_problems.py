"""Problems under renamings, to see whether they are answered alike."""

import math
import random
from dataclasses import dataclass
from typing import Callable, Dict, List, Optional, Sequence

from sit_fairseq.datasets.pair_files import read_pairs, write_pairs
from sit_fairseq.errors import UserError
from sit_fairseq.judging.equality_judges import without_fresh_names
from sit_fairseq.logic.syntax import ARITY, CONSTANTS, tokenize
from sit_fairseq.symbols.pattern import SymbolPattern
from sit_fairseq.symbols.renaming import Renaming, renamings_into


@dataclass
class RenamedProblem:
    """A problem and the renamings under which it is to be answered.

    Attributes:
        source: the problem.
        num_symbols: how many distinct symbols it has.
        renamings: at least two.
        fresh: matches symbols, of which those that a source lacks may have any names in its
            answer; None where they may not.
    """

    source: str
    num_symbols: int
    renamings: List[Renaming]
    fresh: Optional[SymbolPattern] = None

    @property
    def sources(self) -> List[str]:
        """The problem under each renaming."""
        return [renaming(self.source) for renaming in self.renamings]

    def undone(self, answers: Sequence[str]) -> List[str]:
        """The answers to ``sources``, each with its renaming undone."""
        if self.fresh is not None:
            answers = [
                without_fresh_names(answer, source, self.fresh)
                for answer, source in zip(answers, self.sources)
            ]
        return [renaming.inverse()(answer) for renaming, answer in zip(self.renamings, answers)]


def choose_problems(
    sources: Sequence[str],
    is_symbol: Callable[[str], bool],
    names: Sequence[str],
    counts: Sequence[int],
    samples: int,
    max_renamings: int,
    rng: random.Random,
) -> List[RenamedProblem]:
    """Chooses problems and renamings as the paper does (section 5.1.1 and Table 1).

    Args:
        sources: problems.
        is_symbol: tells which tokens are interchangeable.
        names: the V names that symbols are renamed to.
        counts: problems with exactly so many symbols are wanted.
        samples: how many for each count; the first ones are taken.
        max_renamings: if a problem has more, so many distinct ones are drawn.
        rng: draws them.

    Returns:
        The problems by count, fewer where there are fewer.

    Raises:
        UserError: there are too few names to rename anything, or no problem at all.
    """
    for count in counts:
        if count > len(names) or math.perm(len(names), count) < 2:
            raise UserError(
                f"--counts {count}: {len(names)} names allow for no two renamings of {count} "
                "symbols; add --names, or leave this count out."
            )
    found: Dict[int, List[RenamedProblem]] = {count: [] for count in counts}
    for source in sources:
        symbols = list(dict.fromkeys(filter(is_symbol, tokenize(source))))
        chosen = found.get(len(symbols))
        if chosen is not None and len(chosen) < samples:
            renamings = renamings_into(symbols, names, max_renamings, rng)
            chosen.append(RenamedProblem(source, len(symbols), renamings))
    problems = [problem for count in counts for problem in found[count]]
    if not problems:
        raise UserError(
            f"--counts {','.join(map(str, counts))}: no sentence has so many distinct symbols."
        )
    return problems


@dataclass(frozen=True)
class Choice:
    """Which problems are asked about, and under which renamings.

    Attributes:
        counts: see :func:`choose_problems`.
        samples: see there.
        max_renamings: see there.
        names: see there; None for the symbols in the file.
        seed: of the renamings.

    Raises:
        UserError: a number is too small.
    """

    counts: Sequence[int]
    samples: int
    max_renamings: int
    names: Optional[Sequence[str]]
    seed: int

    def __post_init__(self) -> None:
        if self.samples < 1 or self.max_renamings < 2:
            raise UserError(
                f"--samples {self.samples} --max-renamings {self.max_renamings}: at least 1 sample "
                "and 2 renamings are needed."
            )

    def of(self, sources: Sequence[str], is_symbol: Callable[[str], bool]) -> List[RenamedProblem]:
        """Chooses among problems.

        Args:
            sources: the problems.
            is_symbol: tells which tokens are interchangeable.

        Returns:
            Those chosen, in the order of ``counts``.

        Raises:
            UserError: a name is no symbol, or nothing can be chosen.
        """
        for name in self.names or ():
            if not is_symbol(name):
                raise UserError(f"--names: {name!r} is no symbol of the model; see --symbols.")
        names = self.names_in(sources, is_symbol)
        rng = random.Random(self.seed)
        return choose_problems(
            sources, is_symbol, names, self.counts, self.samples, self.max_renamings, rng
        )

    def names_in(self, sources: Sequence[str], is_symbol: Callable[[str], bool]) -> Sequence[str]:
        """The names that symbols are renamed to."""
        if self.names is not None:
            return self.names
        return sorted({t for source in sources for t in tokenize(source) if is_symbol(t)})


def symbols_without_a_model(symbols: Optional[str]) -> Callable[[str], bool]:
    """Tells which tokens are interchangeable where no checkpoint says it.

    Args:
        symbols: matches them in full; None for all tokens of formulas but operators and
            constants.

    Raises:
        UserError: it is no regular expression.
    """
    if symbols is not None:
        return SymbolPattern(symbols).is_symbol
    return lambda token: token not in ARITY and token not in CONSTANTS


def write_questions(prefix: str, out: str, choice: Choice, symbols: Optional[str]) -> int:
    """Writes the renamed problems, for others than our models to answer.

    Args:
        prefix: the problems are in ``prefix.src``, their references in ``prefix.tgt``.
        out: ``out.src`` and ``out.tgt`` get both renamed.
        choice: which ones.
        symbols: see :func:`symbols_without_a_model`.

    Returns:
        How many lines were written.

    Raises:
        UserError: a file or an option cannot be used.
    """
    pairs = read_pairs(prefix)
    targets = {source: target for source, target in reversed(pairs)}
    problems = choice.of([source for source, _ in pairs], symbols_without_a_model(symbols))
    questions = [
        (renaming(problem.source), renaming(targets[problem.source]))
        for problem in problems
        for renaming in problem.renamings
    ]
    write_pairs(out, questions)
    return len(questions)
