"""Requests of people and their LTL: pairs of files, two ways to split them, and a judge.

    python -m examples.lang2ltl.pairs DATA outputs/lang2ltl

reads utterances about landmarks a, b, c, d and h, with formulas in prefix notation, such as

    visit b before you go to a
    & U ! a b F a

and writes formulas as lists of their conjuncts, `U ! a b , F a`. For each of three seeds there is a
test of a fifth of the utterances, and another of all utterances of a fifth of the formulas, neither
of which is in its training.
"""

import csv
import re
from collections import Counter
from pathlib import Path
from random import Random
from typing import Callable, Dict, List, Tuple

from examples.public_files import read_public
from examples.script import run
from sit_fairseq.datasets.pair_files import write_pairs
from sit_fairseq.domains.formulas.infix import infix
from sit_fairseq.domains.formulas.syntax import Tree, parse
from sit_fairseq.domains.ltl.traces import check_ltl
from sit_fairseq.errors import MalformedFormula
from sit_fairseq.judging.judge import Judge, Problem
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.symbols.canonical_form import canonical_form
from sit_fairseq.symbols.pattern import SymbolPattern

FILE = "symbolic_batch12_noperm.csv"
SEEDS = (1, 2, 3)
LANDMARKS = SymbolPattern("[abcdh]")
# Conjuncts of these may be written in any order.
ALIKE = re.compile(r"(?P<operators>G F|G !|F) \w")


class EquivalenceJudge(Judge):
    """Satisfied if the conjunction of an answer is equivalent to that of the reference, which Spot
    decides."""

    on_references = True

    def verify(self, problem: Problem, answer: str) -> Verdict:
        import spot

        try:
            given = conjunction(answer)
        except MalformedFormula:
            return Verdict.invalid
        right, given = (spot.formula(infix(f)) for f in (conjunction(problem.reference), given))
        return Verdict.satisfied if spot.are_equivalent(right, given) else Verdict.violated


def conjunction(answer: str) -> List[str]:
    """The formula in prefix notation that a list of requirements stands for.

    Raises:
        MalformedFormula: a requirement is none.
    """
    *others, last = (part.split() for part in answer.split(" , "))
    for part in (*others, last):
        check_ltl(part)
    return [token for part in others for token in ("&", *part)] + last


def requirements(formula: List[str], utterance: str) -> str:
    """A formula in prefix notation as the list of its conjuncts.

    Conjuncts that are alike come in the order of the utterance, as they may be in any.
    """

    def conjuncts(tree: Tree) -> List[str]:
        if tree[0] == "&":
            return [text for operand in tree[1:] for text in conjuncts(operand)]
        return [prefix(tree)]

    def prefix(tree: Tree) -> str:
        return tree if isinstance(tree, str) else " ".join(map(prefix, tree))

    found = conjuncts(parse(formula))
    alike = [*map(ALIKE.fullmatch, found)]
    if all(alike) and len({match["operators"] for match in alike}) == 1:
        order = utterance.split()
        found.sort(key=lambda text: order.index(text.split()[-1]))
    return " , ".join(found)


def read_pairs(folder: Path) -> List[Tuple[str, str]]:
    """Utterances and formulas; `i` and `e` become `->` and `<->`.

    Left out are utterances that do not name a landmark of their formula, which is a mistake.
    """
    pairs = []
    for row in csv.DictReader(read_public(folder, FILE).splitlines()):
        words = {"i": "->", "e": "<->"}
        formula = [words.get(token, token) for token in row["ltl_formula"].split()]
        utterance = " ".join(re.findall(r"\w+", row["utterance"].lower()))
        if {*filter(LANDMARKS.is_symbol, formula)} <= {*utterance.split()}:
            pairs.append((utterance, requirements(formula, utterance)))
    return pairs


def utterance_of(pair: Tuple[str, str]) -> str:
    """What a pair has in common with others that say the same."""
    return pair[0]


def formula_of(pair: Tuple[str, str]) -> str:
    """The formula of a pair, whatever its landmarks are called."""
    tokens = pair[1].split()
    return canonical_form(tokens, LANDMARKS.symbols(tokens), LANDMARKS)


def split(pairs: List[Tuple[str, str]], key: Callable, seed: int, folder: Path) -> None:
    """Writes a test of a fifth of the keys of pairs, and a training of the others.

    A word that this training has once only, or never, becomes `<rare>`.
    """
    keys = sorted({key(pair) for pair in pairs})
    Random(seed).shuffle(keys)
    held_out = {*keys[: round(len(keys) / 5)]}
    parts: Dict[str, List[Tuple[str, str]]] = {"train": [], "test": []}
    for pair in pairs:
        parts["test" if key(pair) in held_out else "train"].append(pair)
    counts = Counter(word for utterance, _ in parts["train"] for word in utterance.split())
    for name, part in parts.items():
        rows = []
        for utterance, formula in part:
            words = [word if counts[word] > 1 else "<rare>" for word in utterance.split()]
            rows.append((" ".join(words), formula))
        write_pairs(str(folder / name), rows)


def main(data: Path, out: Path) -> None:
    """Writes the pairs of all splits."""
    everything = read_pairs(data)
    for number in SEEDS:
        split(everything, utterance_of, number, out / f"utterances{number}")
        split(everything, formula_of, number, out / f"formulas{number}")


if __name__ == "__main__":
    run(main)
