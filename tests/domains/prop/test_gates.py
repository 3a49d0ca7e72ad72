"""Clauses of circuits, and the formulas over their inputs."""

from random import Random

import pytest

from sit_fairseq.domains.by_name import make_judge
from sit_fairseq.domains.formulas.dimacs import read_dimacs
from sit_fairseq.domains.formulas.syntax import formula_symbols
from sit_fairseq.domains.prop.gates import without_gates
from sit_fairseq.domains.prop.propositional import smallest_answer, truth_table
from sit_fairseq.domains.prop.satisfiability import satisfiable
from sit_fairseq.judging.verdict import Verdict


def dimacs(clauses):
    lines = [" ".join(map(str, (*clause, 0))) for clause in clauses]
    return "\n".join([f"p cnf {max(abs(x) for c in clauses for x in c)} {len(clauses)}", *lines])


def circuit(rng, inputs, gates, output_first):
    """The clauses of a random circuit, of which the last two gates have given values."""
    clauses = []
    for gate in range(inputs + 1, inputs + gates + 1):
        a, b = (x * rng.choice((1, -1)) for x in rng.sample(range(1, gate), 2))
        kind = rng.choice(("and", "or", "xor", "same"))
        if kind == "xor":
            new = [(-gate, a, b), (-gate, -a, -b), (gate, -a, b), (gate, a, -b)]
        elif kind == "same":
            new = [(gate, -a), (-gate, a)]
        else:
            x = gate if kind == "and" else -gate
            a, b = (a, b) if kind == "and" else (-a, -b)
            new = [(-x, a), (-x, b), (x, -a, -b)]
        ordered = sorted(new, key=lambda _: rng.random())
        clauses += [sorted(c, key=abs, reverse=output_first) for c in ordered]
    if output_first:
        clauses.reverse()
    return clauses + [
        (gate * rng.choice((1, -1)),) for gate in (inputs + gates - 1, inputs + gates)
    ]


def test_an_operation_of_each_kind():
    gates = {
        "& g & | ! g a & | ! g b | g | ! a ! b": "& a b",
        "& ! g & | g ! a & | g ! b | ! g | a b": "! | b a",
        "& | | a b ! g & | | a ! b g & | | ! a b g & | | ! a ! b ! g g": "xor a b",
        "& | a g & | ! a ! g g": "! a",
        "& g & | a ! g & | b ! g | g | ! a ! b": "& a b",
    }
    for source, expected in gates.items():
        found, _ = without_gates(source.split())
        assert set(found) == set(expected.split()), source
        assert truth_table(found, "ab") == truth_table(expected.split(), "ab"), source


@pytest.mark.parametrize("output_first", [False, True])
def test_answers_of_the_inputs_become_answers_of_the_clauses(output_first):
    rng, judge, answered, shorter = Random(5), make_judge("prop"), 0, 0
    for _ in range(60):
        source = read_dimacs(dimacs(circuit(rng, 4, rng.randint(2, 7), output_first))).tokens
        found, whole = without_gates(source)
        shorter += len(formula_symbols(found)) < len(formula_symbols(source))
        answer = smallest_answer(found)
        assert satisfiable(source) is (answer is not None)
        if answer is not None:
            answered += 1
            text = " ".join(whole(answer.split()))
            assert judge.verify(" ".join(source), text) is Verdict.satisfied
    assert answered >= 20 and shorter == 60


@pytest.mark.parametrize("source", ["& | a b | ! a c", "| a ! a", "1", "& -> a b ! a"])
def test_formulas_without_gates_stay(source):
    found, whole = without_gates(source.split())
    assert found == source.split() and whole(["a", "1"]) == ["a", "1"]


def test_gates_that_define_each_other_keep_their_clauses():
    """``a <-> (b & c)`` and ``b <-> (a & d)``."""
    clauses = [(-1, 2), (-1, 3), (1, -2, -3), (-2, 1), (-2, 4), (2, -1, -4)]
    source = read_dimacs(dimacs(clauses)).tokens
    found, whole = without_gates(source)
    answer = " ".join(whole(smallest_answer(found).split()))
    assert make_judge("prop").verify(" ".join(source), answer) is Verdict.satisfied
    assert len(formula_symbols(found)) == 3
