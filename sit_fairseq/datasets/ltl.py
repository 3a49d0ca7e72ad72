"""LTL formulas with traces that satisfy them, drawn at random.

``sit generate ltl --help`` says what the data are.
"""

import os
import sys
from collections import Counter
from contextlib import ExitStack
from itertools import islice
from typing import Dict, Optional, Sequence, Set, TextIO, Tuple

from tqdm import tqdm

from sit_fairseq.datasets.drawing import Drawn, excluded_keys
from sit_fairseq.datasets.interruptions import UnfinishedFiles
from sit_fairseq.datasets.length_gate import LengthGate
from sit_fairseq.datasets.ltl_formulas import LtlFormulas, LtlRecipe
from sit_fairseq.errors import UserError
from sit_fairseq.judging.labelling import LabelPool, SpotLabeller
from sit_fairseq.judging.spot_judge import INSTALL_HINT, spot_installed
from sit_fairseq.logic.syntax import formula_symbols, read_sentences, tokenize
from sit_fairseq.symbols.canonical_form import form_key

# A round draws formulas from a seed of its own until so many are worth a label, or so
# many have been drawn. A change of either changes the data of a seed.
LABELS_PER_ROUND, DRAWS_PER_ROUND = 1000, 20000


class LtlGeneration:
    """A data set in the making.

    Args:
        recipe: what to generate.
        distinct: the fewest and the most different symbols of a formula, None for any number.
        prefix: what the names of the files begin with.
    """

    def __init__(self, recipe: LtlRecipe, distinct: Optional[Tuple[int, int]], prefix: str) -> None:
        self.recipe = recipe
        self._formulas = LtlFormulas(recipe, distinct)
        self.gate = LengthGate(self._formulas.lengths, recipe.size)
        self.skipped: Counter = Counter()
        self.round = 0
        self.excluded = excluded_keys(recipe.exclude)
        self.seen: Set[int] = set()
        self._files = UnfinishedFiles(prefix, ("src", "tgt", "timeouts"), recipe._asdict())

    def resume(self) -> None:
        """Takes up what an interrupted run has left, if anything.

        Raises:
            UserError: that run had other options, or its files are damaged.
        """
        state = self._files.resume()
        if state is None:
            return
        self.round = state["round"]
        self.skipped = Counter(state["skipped"])
        self.gate.load_state(state["gate"])
        sources = read_sentences(self._files.part("src"))
        self.gate.counts.update(len(tokenize(source)) for source in sources)
        timed_out = [line.split("\t")[1] for line in read_sentences(self._files.part("timeouts"))]
        self.seen.update(map(_key, [*sources, *timed_out]))

    def save(self, files: Sequence[TextIO]) -> None:
        """Makes sure that a resumed run can start from here."""
        state = {"round": self.round, "skipped": self.skipped, "gate": self.gate.state()}
        self._files.save(files, state)

    def run(self, workers: int) -> None:
        """Generates what is missing and gives the files their names.

        Args:
            workers: number of processes.
        """
        found = sum(self.gate.counts.values())
        with ExitStack() as stack:
            files = self._files.open(stack, new=not self.round)
            self.save(files)
            labeller = SpotLabeller(depth_first=self.recipe.labels == "depth-first")
            pool = stack.enter_context(LabelPool(labeller, workers, self.recipe.timeout))
            bar = stack.enter_context(tqdm(total=self.recipe.size, initial=found, unit=" samples"))
            while found < self.recipe.size:
                wanted = self.gate.open_lengths()
                before, found = found, self._round(wanted, found, pool, files)
                self.save(files)
                bar.update(found - before)
        self._files.finish()

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
        for tokens in islice(self._formulas.draw(self.round, wanted), DRAWS_PER_ROUND):
            draws += 1
            length = len(tokens)
            if wanted.get(length, 0) < 1:
                continue
            formula = " ".join(self._formulas.renaming.tokens(tokens))
            key = _key(formula)
            if key in self.seen or key in candidates or key in self.excluded:
                kind = "excluded" if key in self.excluded else "duplicates"
                self.skipped[kind] += 1
                self.gate.misses[length] += 1
                continue
            candidates[key] = formula
            wanted[length] -= 1
            if len(candidates) == LABELS_PER_ROUND:
                break
        return candidates, draws


def _key(formula: str) -> int:
    """What renamings of a formula have in common."""
    tokens = tokenize(formula)
    return form_key(tokens, formula_symbols(tokens))


def generate_ltl(
    recipe: LtlRecipe,
    distinct: Optional[Tuple[int, int]],
    prefix: str,
    workers: int,
    resume: bool,
) -> Drawn:
    """Generates a data set.

    Args:
        recipe: what to generate.
        distinct: the fewest and the most different symbols of a formula, None for any number.
        prefix: names the files ``PREFIX.src``, ``PREFIX.tgt`` and ``PREFIX.timeouts``.
        workers: number of processes; the data do not depend on it.
        resume: whether to go on where a run was interrupted, if one was.

    Returns:
        How many pairs were written and left out.

    Raises:
        UserError: that cannot be done, or a file cannot be used.
    """
    if recipe.timeout <= 0:
        raise UserError(f"--timeout {recipe.timeout}: it must be positive.")
    if not spot_installed():
        raise UserError(f"LTL data need Spot: {INSTALL_HINT}.")
    generation = LtlGeneration(recipe, distinct, prefix)
    try:
        os.makedirs(os.path.dirname(prefix) or ".", exist_ok=True)
        if resume:
            generation.resume()
        generation.run(workers)
    except OSError as error:
        raise UserError(f"Cannot write {prefix}.src and .tgt: {error.strerror}.")
    return Drawn(generation.gate.counts, generation.skipped)
