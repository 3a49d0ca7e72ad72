"""A domain of one's own: Sudoku of 4 x 4 places, whose digits are symbols."""

from dataclasses import dataclass

from sit_fairseq.datasets.labelling import Label
from sit_fairseq.datasets.options import option
from sit_fairseq.datasets.recipes import Cells, Recipe
from sit_fairseq.domains import Domain
from sit_fairseq.judging.judge import Judge
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.search.grammar import Grammar

DIGITS, PLACES, EMPTY = "abcd", range(16), "."
GROUPS = [[(p // 4, "row"), (p % 4, "column"), (p // 8 * 2 + p % 4 // 2, "box")] for p in PLACES]
PEERS = [[q for q in PLACES if q != p and set(GROUPS[p]) & set(GROUPS[q])] for p in PLACES]


def solutions(filled):
    if EMPTY not in filled:
        yield filled
        return
    place = filled.index(EMPTY)
    for digit in set(DIGITS) - {filled[peer] for peer in PEERS[place]}:
        yield from solutions([*filled[:place], digit, *filled[place + 1 :]])


def solution(source):
    found = sorted(solutions(source.split()))
    return Label(" ".join(found[0]), "several solutions" if found[1:] else None)


class SudokuJudge(Judge):
    quick = True

    def verify(self, problem, answer):
        return Verdict["satisfied" if answer.split() in solutions(problem.split()) else "violated"]


class SixteenDigits(Grammar):
    def start(self, source):
        return 0

    def next(self, state, token):
        return state + 1 if isinstance(token, int) and state < 16 else None

    def shortest(self, state):
        return 16 - state


@dataclass
class Puzzles(Recipe):
    clues: int = option(10, "number of clues", type=int)

    def draw(self, rng):
        full = sorted(solutions([*rng.sample(DIGITS, 4), *[EMPTY] * 12]))[rng.randrange(12)]
        kept = rng.sample(PLACES, self.clues)
        puzzle = [digit if place in kept else EMPTY for place, digit in enumerate(full)]
        return puzzle if {*DIGITS} <= {*puzzle} else []


class Places(Cells):
    usual = (4, 16, 5)

    def feasible(self, k, length):
        return (k, length) == (4, 16)

    def draw(self, rng, k, length):
        return Puzzles().draw(rng)


DOMAIN = Domain(
    name="sudoku",
    version=1,
    symbols="[a-d]",
    judges={"rules": SudokuJudge},
    grammar=SixteenDigits,
    recipe=Puzzles,
    labels={"solution": solution},
    cells=Places,
)
