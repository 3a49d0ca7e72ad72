"""The judges of propositional logic, by hand and against each other."""

import logging
from collections import Counter
from random import Random
from unittest import mock

import pytest

from sit_fairseq.domains.by_name import make_judge
from sit_fairseq.domains.formulas.syntax import formula_symbols
from sit_fairseq.domains.prop import aiger_judge, satisfiability
from sit_fairseq.domains.prop.aiger_judge import AigerJudge, aiger_answer
from sit_fairseq.domains.prop.judges import BitsJudge
from sit_fairseq.domains.prop.propositional import random_formula, smallest_assignment, truth_table
from sit_fairseq.judging.verdict import Verdict

TABLE = [
    ("| a b", "a 0", Verdict.violated),
    ("-> a b", "a 0", Verdict.satisfied),
    # The empty answer is right exactly for a tautology.
    ("| a ! a", "", Verdict.satisfied),
    ("| a b", "", Verdict.violated),
    # Contradictory literals describe nothing; equal ones are one literal.
    ("| a b", "a 1 a 0", Verdict.vacuous),
    ("| a b", "a 1 a 1", Verdict.satisfied),
    # What cannot be read, of which test_propositional.py has more.
    ("| a b", "a", Verdict.invalid),
    ("| a b", "a 1 c 1", Verdict.invalid),
    # Symbols that vanish when the formula is simplified are symbols of it.
    ("| a & b 0", "a 1 b 0", Verdict.satisfied),
    # Names are tokens, not letters, and may be those of constants elsewhere.
    ("xor x or", "x 1 or 0", Verdict.satisfied),
    # Formulas that are none.
    ("| a", "a 1", Verdict.error),
    ("X a", "a 1", Verdict.error),
]


@pytest.mark.parametrize("judge", ["bits", "aiger"])
@pytest.mark.parametrize("formula, answer, verdict", TABLE)
def test_by_hand(judge, formula, answer, verdict):
    judge = make_judge("prop", judge)
    assert judge.verify(formula, answer) is verdict
    assert judge.solvable(formula) is (None if verdict is Verdict.error else True)


def random_answer(rng, formula):
    """A right answer, a right one with an error put in, or a wild guess."""
    symbols = formula_symbols(formula)
    literals = smallest_assignment(truth_table(formula, symbols), len(symbols)) or []
    answer = [token for j, value in literals for token in (symbols[j], str(value))]
    kind = rng.randrange(6)
    if kind == 1 and answer:  # one value wrong
        position = 2 * rng.randrange(len(literals)) + 1
        answer[position] = "10"[int(answer[position])]
    elif kind == 2:  # one literal less
        answer = answer[2:]
    elif kind == 3 and answer:  # a contradiction
        answer += [answer[0], "10"[int(answer[1])]]
    elif kind == 4:  # something strange
        answer.append(rng.choice(["a", "0", "&", "zzz"]))
    elif kind == 5:
        guess = rng.sample("abcde", rng.randint(0, 5))
        answer = [token for symbol in guess for token in (symbol, rng.choice("01"))]
    return " ".join(answer)


@pytest.mark.slow
def test_judges_agree():
    rng = Random(5)
    bits, aiger = BitsJudge(), AigerJudge()
    seen = Counter()
    for _ in range(250):
        formula = random_formula(rng, rng.randint(1, 25), "abcde")
        answer = random_answer(rng, formula)
        formula = " ".join(formula)
        verdict = aiger.verify(formula, answer)
        assert bits.verify(formula, answer) is verdict, (formula, answer)
        solvable = aiger.solvable(formula)
        assert bits.solvable(formula) is solvable and solvable >= (verdict is Verdict.satisfied)
        seen[verdict] += 1
        seen[solvable] += 1
    assert seen[False] > 20
    for verdict in (Verdict.satisfied, Verdict.violated, Verdict.vacuous, Verdict.invalid):
        assert seen[verdict] >= 10, seen


def test_aiger_labels_are_right_and_sorted_by_name():
    rng = Random(6)
    bits = BitsJudge()
    labelled = 0
    for _ in range(60):
        formula = random_formula(rng, 20, ["p10", "p9", "a", "b"])
        symbols = formula_symbols(formula)
        answer = aiger_answer(formula)
        if answer is None:
            assert truth_table(formula, symbols) == 0
            continue
        assert answer.split()[::2] == sorted(answer.split()[::2])
        assert bits.verify(" ".join(formula), answer) is Verdict.satisfied
        labelled += 1
    assert labelled > 30


def test_what_a_truth_table_has_no_room_for():
    wide = " ".join(["|"] * 20 + [f"p{i}" for i in range(21)])
    long = " ".join(["|"] * 1999 + [f"p{i % 21}" for i in range(2000)])
    bits = BitsJudge()
    assert bits.verify(wide, "") is Verdict.violated
    assert bits.verify(f"& q {long}", "q 1") is Verdict.violated
    assert bits.verify(f"| q | ! q {wide}", "") is Verdict.satisfied
    assert bits.verify(long, "p0 1") is Verdict.satisfied
    assert bits.verify(f"& q {wide}", "q 0") is Verdict.violated
    assert bits.verify(f"xor {wide} & q r", "q 0 p20 1") is Verdict.satisfied
    assert bits.solvable(f"& 0 {wide}") is False and bits.solvable(f"| ! 0 {wide}") is True
    assert bits.verify(wide, "p0 0") is Verdict.violated
    assert bits.verify(wide, "p0 1") is Verdict.satisfied
    assert bits.verify(long, " ".join(f"p{i} 1" for i in range(12))) is Verdict.satisfied
    for judge in (bits, AigerJudge()):
        assert judge.solvable(wide) is True
        assert judge.solvable(f"& p0 & ! p0 {wide}") is False


def test_what_a_search_takes_too_long_for_is_unavailable(monkeypatch):
    monkeypatch.setattr(satisfiability, "satisfiable", lambda formula: None)
    wide = " ".join(["|"] * 20 + [f"p{i}" for i in range(21)])
    assert BitsJudge().verify(wide, "") is Verdict.unavailable
    assert BitsJudge().solvable(wide) is None


@pytest.mark.slow
def test_formulas_too_deep_for_aiger_are_errors(monkeypatch):
    formula = "xor a " * 250 + "a"
    assert AigerJudge().verify(formula, "a 1") is Verdict.error
    monkeypatch.setattr(aiger_judge, "_circuit", mock.Mock(side_effect=RecursionError))
    assert AigerJudge().solvable(formula) is None
    assert BitsJudge().verify(formula, "a 1") is Verdict.satisfied


def test_missing_aiger_is_unavailable(monkeypatch, caplog):
    monkeypatch.setattr(aiger_judge, "aiger_installed", lambda: False)
    with caplog.at_level(logging.WARNING):
        judge = make_judge("prop", "aiger")
    assert "pip install py-aiger-sat python-sat==" in caplog.text
    assert judge.verify("| a b", "a 1") is Verdict.unavailable
    assert judge.solvable("| a b") is None
    assert judge.verify("| a b", "a") is Verdict.invalid  # needs no solver
