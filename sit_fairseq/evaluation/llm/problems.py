"""Which problems of a data set a language model is asked about, and what it is shown."""

import random
from typing import List, NamedTuple, Optional, Sequence, Tuple

from sit_fairseq.datasets.pair_files import read_pairs
from sit_fairseq.errors import UserError
from sit_fairseq.evaluation.llm.dialect import Dialect, Example
from sit_fairseq.judging.judge import make_judge
from sit_fairseq.logic.syntax import MalformedFormula, formula_symbols, tokenize
from sit_fairseq.symbols.renaming import Renaming, renamings_into

# Number of examples in a prompt, as in the paper.
SHOTS = 4


class Sample(NamedTuple):
    """A pair of the data set.

    Attributes:
        source: the formula.
        target: its label.
        renamings: renamings of the formula to be asked about as well, if any.
    """

    source: str
    target: str
    renamings: List[Renaming]

    def formulas(self) -> List[str]:
        """All formulas that are asked about."""
        return [self.source, *(renaming(self.source) for renaming in self.renamings)]


def read_problems(prefix: str, semantics: str) -> List[Tuple[str, str]]:
    """Reads the data set.

    Args:
        prefix: formulas are in ``prefix.src``, labels in ``prefix.tgt``.
        semantics: what they mean.

    Returns:
        Formulas and labels.

    Raises:
        UserError: there are none, or a formula is malformed.
    """
    pairs, judge = read_pairs(prefix), make_judge(semantics)
    if not pairs:
        raise UserError(f"{prefix}.src has no lines; give data with at least one.")
    for number, (source, _) in enumerate(pairs, start=1):
        try:
            judge.check(source)
        except MalformedFormula as error:
            raise UserError(f"Line {number} of {prefix}.src is malformed: {error}.")
    return pairs


def choose_samples(
    pairs: Sequence[Tuple[str, str]], samples: Optional[int], renamings: int, seed: int
) -> List[Sample]:
    """Draws from the data set.

    What is drawn does not depend on how much is: answers that were paid for serve again
    when more samples or renamings are asked about.

    Args:
        pairs: the data set.
        samples: how many pairs, None for all.
        renamings: up to so many of each formula are asked about as well.
        seed: of all that is drawn.

    Returns:
        The samples in the order of the data.
    """
    numbers = list(range(len(pairs)))
    random.Random(seed).shuffle(numbers)
    symbols = [formula_symbols(tokenize(source)) for source, _ in pairs]
    names = list(dict.fromkeys(name for line in symbols for name in line))
    chosen = []
    for number in sorted(numbers[:samples]):
        rng = random.Random(f"{seed} {number}")
        drawn = renamings_into(symbols[number], names, renamings, rng)
        chosen.append(Sample(*pairs[number], drawn))
    return chosen


def choose_examples(
    dialect: Dialect, pairs: Sequence[Tuple[str, str]], prefix: Optional[str], seed: int
) -> List[Example]:
    """Draws the examples of all prompts.

    Args:
        dialect: how they will be written.
        pairs: the data set, whose formulas shall not be among them.
        prefix: of the data to draw from, None for the paper's examples.
        seed: of the draw.

    Returns:
        ``SHOTS`` examples; those of the paper if no data are named.

    Raises:
        UserError: there are too few, or one cannot be read.
    """
    if prefix is None:
        return list(dialect.examples)
    tested = {source for source, _ in pairs}
    candidates = [Example(*pair) for pair in read_pairs(prefix) if pair[0] not in tested]
    if len(candidates) < SHOTS:
        raise UserError(
            f"--examples {prefix}: only {len(candidates)} formulas are not tested "
            f"themselves; give data with at least {SHOTS}."
        )
    examples = random.Random(seed).sample(candidates, SHOTS)
    for example in examples:
        try:
            dialect.prompt("1", [example])
        except ValueError as error:
            raise UserError(
                f"--examples {prefix}: '{example.source}' with the answer "
                f"'{example.target}' cannot be an example: {error}."
            )
    return examples
