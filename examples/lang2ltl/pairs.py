"""Requests of people and their LTL: pairs of files, two ways to split them, and a judge.

    python -m examples.lang2ltl.pairs DATA outputs/lang2ltl

reads utterances about landmarks a, b, c, d and h, with formulas in prefix notation, such as

    visit b before you go to a
    & U ! a b F a

and writes, for each of three seeds, a test of a fifth of the utterances, and another of all utterances
of a fifth of the formulas, neither of which is in its training.
"""

import csv
import re
import sys
from collections import Counter
from pathlib import Path
from random import Random
from typing import Callable, Dict, List, Tuple

from examples.public_files import read_public
from sit_fairseq.datasets.pair_files import write_pairs
from sit_fairseq.judging.judge import Judge, Problem
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.logic.infix import infix
from sit_fairseq.logic.ltl import check_ltl
from sit_fairseq.logic.syntax import MalformedFormula
from sit_fairseq.symbols.canonical_form import canonical_form
from sit_fairseq.symbols.pattern import SymbolPattern

FILE = "symbolic_batch12_noperm.csv"
SEEDS = (1, 2, 3)
LANDMARKS = SymbolPattern("[abcdh]")
# Conjunctions of these may be written in any order.
ALIKE = re.compile(r"(?:& )*(?P<operators>G F|G !|F) \w(?: (?:& )*(?P=operators) \w)*")


class EquivalenceJudge(Judge):
    """Satisfied if an answer is equivalent to the reference, which Spot decides."""

    on_references = True

    def verify(self, problem: Problem, answer: str) -> Verdict:
        import spot

        try:
            check_ltl(answer.split())
        except MalformedFormula:
            return Verdict.invalid
        right, given = (spot.formula(infix(text.split())) for text in (problem.reference, answer))
        return Verdict.satisfied if spot.are_equivalent(right, given) else Verdict.violated


def ordered(formula: str, utterance: str) -> str:
    """A formula whose conjuncts, if they are alike, come in the order of the utterance."""
    match = ALIKE.fullmatch(formula)
    landmarks = [*filter(LANDMARKS.is_symbol, formula.split())]
    if not match or not formula.startswith("& ") or len({*landmarks}) < len(landmarks):
        return formula
    order = utterance.split()
    landmarks.sort(key=order.index)
    conjuncts = [f"{match['operators']} {name}" for name in landmarks]
    return " ".join([*(f"& {conjunct}" for conjunct in conjuncts[:-1]), conjuncts[-1]])


def read_pairs(folder: Path) -> List[Tuple[str, str]]:
    """Utterances and formulas; `i` and `e` become `->` and `<->`.

    Left out are utterances that do not name a landmark of their formula, which is a mistake.
    """
    pairs = []
    for row in csv.DictReader(read_public(folder, FILE).splitlines()):
        words = {"i": "->", "e": "<->"}
        formula = " ".join(words.get(token, token) for token in row["ltl_formula"].split())
        utterance = " ".join(re.findall(r"\w+", row["utterance"].lower()))
        if {*filter(LANDMARKS.is_symbol, formula.split())} <= {*utterance.split()}:
            pairs.append((utterance, ordered(formula, utterance)))
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


if __name__ == "__main__":
    data, out = map(Path, sys.argv[1:])
    everything = read_pairs(data)
    for number in SEEDS:
        split(everything, utterance_of, number, out / f"utterances{number}")
        split(everything, formula_of, number, out / f"formulas{number}")
