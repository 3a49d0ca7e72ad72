"""``sit answer`` asks a model all forms of a formula with a narrow beam, then with wider ones."""

from types import SimpleNamespace

import pytest

from sit_fairseq.domains import find
from sit_fairseq.domains.by_name import make_judge
from sit_fairseq.domains.sentence_solver import SentenceSolver
from sit_fairseq.domains.solver import Limits, Status
from sit_fairseq.model import Answer


@pytest.fixture
def ask():
    """Asks a model that knows the answers to some sentences; returns the formula's answer, and the
    sentences with the widths of the beams."""
    judge, asked = make_judge("prop"), []

    def answer(formula, known, possible=True):
        def answers(sentences, beams, **options):
            asked.extend((sentence, tuple(beams)) for sentence in sentences)
            texts = [known.get(sentence, "p0 0") for sentence in sentences]
            return [Answer(t, verdict=judge.verify(s, t)) for s, t in zip(sentences, texts)]

        judges = SimpleNamespace(
            verify_all=lambda pairs: [judge.verify(*pair) for pair in pairs],
            solvable=lambda sentences: [possible for _ in sentences],
        )
        model = SimpleNamespace(answer=answers, fresh_symbols=0, domain=None)
        limits = Limits((3, 25), 60.0)
        solver = SentenceSolver(find("prop"), [(1, formula)], lambda **_: model, limits)
        solver._judges = judges
        ((_, found),) = solver.answers([0])
        return found, asked

    return answer


def test_other_forms_are_asked_before_the_beam_grows(ask):
    found, asked = ask("a & (b & c)", {"& & p2 p1 p0": "p2 1 p1 1 p0 1"})
    assert (found.status, found.text) == (Status.verified, "c & b & a")
    assert [beams for _, beams in asked] == [(3,)] * len(asked)
    assert [asked[0][0], asked[-1][0]] == ["& p0 & p1 p2", "& & p2 p1 p0"]


def test_wider_beams_are_for_formulas_that_may_have_an_answer(ask):
    found, asked = ask("a & b", {}, possible=None)
    assert found.status is Status.unverified
    assert asked == [("& p0 p1", (3,)), ("& p1 p0", (3,)), ("& p1 p0", (25,)), ("& p0 p1", (25,))]
    asked.clear()
    found, asked = ask("a & !a", {}, possible=False)
    assert found.status is Status.impossible
    assert {beams for _, beams in asked} == {(3,)}


def test_clauses_of_a_circuit_are_asked_as_formulas_of_its_inputs(ask):
    """``g`` is ``a & b``; an answer for the inputs is made whole, and judged again."""
    found, asked = ask(
        "(!g | a) & (!g | b) & (g | !a | !b) & (g | c)", {"| & p1 p2 p3": "p1 1 p2 1"}
    )
    assert (found.status, found.text) == (Status.verified, "a & b & g")
    assert asked[-1] == ("| & p1 p2 p3", (3,))
