"""LTL formulas with traces that satisfy them, drawn at random.

``sit generate ltl --help`` says what the data are.
"""

import sys
from collections import Counter
from itertools import islice
from typing import Any, Dict, List, Optional, Set, Tuple

from tqdm import tqdm

from sit_fairseq.datasets.drawing import Drawn, excluded_keys
from sit_fairseq.datasets.interruptions import open_journal, read_entries, read_sides
from sit_fairseq.datasets.length_gate import LengthGate
from sit_fairseq.datasets.ltl_formulas import LtlFormulas, LtlRecipe
from sit_fairseq.errors import UserError
from sit_fairseq.judging.labelling import LabelPool, SpotLabeller
from sit_fairseq.judging.spot_judge import INSTALL_HINT, spot_installed
from sit_fairseq.logic.syntax import formula_symbols, tokenize
from sit_fairseq.storage.files import replacing
from sit_fairseq.storage.journal import Journal
from sit_fairseq.symbols.canonical_form import form_key

# A round draws formulas from a seed of its own until so many are worth a label, or so
# many have been drawn. A change of either changes the data of a seed.
LABELS_PER_ROUND, DRAWS_PER_ROUND = 1000, 20000


class LtlGeneration:
    """A data set in the making.

    Args:
        recipe: what to generate.
        distinct: the fewest and the most different symbols of a formula, None for any number.

    Attributes:
        sources: the formulas.
        targets: their traces.
        stopped: the formulas that Spot was stopped at or failed on, with the fault of each.
        skipped: how many formulas were left out, by the reason.
        gate: how many formulas of which length there are.
    """

    def __init__(self, recipe: LtlRecipe, distinct: Optional[Tuple[int, int]]) -> None:
        self.recipe = recipe
        self.sources: List[str] = []
        self.targets: List[str] = []
        self.stopped: Dict[str, str] = {}
        self.skipped: Counter = Counter()
        self._formulas = LtlFormulas(recipe, distinct)
        self.gate = LengthGate(self._formulas.lengths, recipe.size)
        self._rounds = 0
        self._excluded = excluded_keys(recipe.exclude)
        self._seen: Set[int] = set()

    def take_up(self, entry: Dict[str, Any]) -> None:
        """Takes over a round of an interrupted run, in order.

        Args:
            entry: what :meth:`round` returned then.

        Raises:
            AttributeError, LookupError, TypeError or ValueError: it is damaged.
        """
        sources, targets = read_sides(entry)
        self.sources += sources
        self.targets += targets
        self.gate.counts.update(self._formulas.length(tokenize(source)) for source in sources)
        self.gate.load_state(entry["gate"])
        self.skipped = Counter({name: int(number) for name, number in entry["skipped"].items()})
        self.stopped.update({formula: str(fault) for formula, fault in entry["stopped"].items()})
        self._seen.update(map(_key, [*sources, *entry["stopped"]]))
        self._rounds += 1

    def round(self, pool: LabelPool) -> Dict[str, Any]:
        """Draws and labels one round of formulas.

        Args:
            pool: labels them.

        Returns:
            What a resumed run needs to know of it, as JSON.

        Raises:
            UserError: there are no more formulas.
        """
        first = len(self.sources)
        stopped: Dict[str, str] = {}
        wanted = self.gate.open_lengths()
        candidates, draws = self._draw(dict(wanted))
        labels = pool.labels(candidates.values())
        for (key, formula), label in zip(candidates.items(), labels):
            length = self._formulas.length(tokenize(formula))
            if label.stopped:
                stopped[formula] = label.fault
                tqdm.write(f"{label.fault} of Spot: {formula}", file=sys.stderr)
                self._seen.add(key)
            if label.fault is not None:
                self.skipped[label.fault] += 1
                self.gate.misses[length] += 1
            elif len(self.sources) < self.recipe.size:
                self.sources.append(formula)
                self.targets.append(label.trace)
                self._seen.add(key)
                self.gate.accept(length)
        self.gate.close_round(wanted, draws)
        self.stopped.update(stopped)
        self._rounds += 1
        return {
            "sources": self.sources[first:],
            "targets": self.targets[first:],
            "stopped": stopped,
            "skipped": self.skipped,
            "gate": self.gate.state(),
        }

    def run(self, journal: Journal, workers: int) -> None:
        """Generates what is missing.

        Args:
            journal: has an entry for each round that is done, and gets the others.
            workers: number of processes.
        """
        for _ in read_entries(journal, self.take_up):
            pass
        labeller = SpotLabeller(depth_first=self.recipe.labels == "depth-first")
        size, found = self.recipe.size, len(self.sources)
        with LabelPool(labeller, workers, self.recipe.timeout) as pool, tqdm(
            total=size, initial=found, unit=" samples"
        ) as bar:
            while len(self.sources) < size:
                entry = self.round(pool)
                journal.append(entry)
                bar.update(len(entry["sources"]))

    def write(self, prefix: str) -> None:
        """Writes ``PREFIX.src``, ``PREFIX.tgt`` and ``PREFIX.timeouts``.

        Args:
            prefix: see there.

        Raises:
            UserError: they cannot be written.
        """
        lists = {
            "src": self.sources,
            "tgt": self.targets,
            "timeouts": [f"{fault}\t{formula}" for formula, fault in self.stopped.items()],
        }
        try:
            with replacing(*(f"{prefix}.{ending}" for ending in lists)) as files:
                for file, lines in zip(files, lists.values()):
                    file.writelines(line + "\n" for line in lines)
        except OSError as error:
            raise UserError(
                f"Cannot write {prefix}.src and .tgt: {error.strerror}; the same command with "
                "--resume writes them."
            )

    def _draw(self, wanted: Dict[int, int]) -> Tuple[Dict[int, str], int]:
        """Draws new formulas of wanted lengths, by key; also says how many were drawn in all."""
        candidates: Dict[int, str] = {}
        draws = 0
        for tokens in islice(self._formulas.draw(self._rounds, wanted), DRAWS_PER_ROUND):
            draws += 1
            length = self._formulas.length(tokens)
            if not tokens or wanted.get(length, 0) < 1:
                continue
            formula = " ".join(self._formulas.renaming.tokens(tokens))
            key = _key(formula)
            if key in self._seen or key in candidates or key in self._excluded:
                kind = "excluded" if key in self._excluded else "duplicates"
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
    generation = LtlGeneration(recipe, distinct)
    with open_journal(f"{prefix}.resume", "rounds", recipe, resume, "OUT_PREFIX") as journal:
        generation.run(journal, workers)
        generation.write(prefix)
        journal.remove()
    lengths = Counter(len(tokenize(source)) for source in generation.sources)
    return Drawn(lengths, generation.skipped)
