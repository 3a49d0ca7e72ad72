"""Propositional data: what formulas and assignments there are."""

from collections import Counter

import pytest
from generated import generate, read

from sit_fairseq.domains.by_name import make_judge
from sit_fairseq.domains.formulas.syntax import formula_symbols
from sit_fairseq.domains.prop.depth_first import depth_first_answer
from sit_fairseq.domains.prop.propositional import smallest_assignment, truth_table
from sit_fairseq.judging.verdict import Verdict

BASE = {"0", "1", "!", "&", "|", "<->", "xor"}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """The formulas and assignments of a data set of 3000 pairs."""
    return read(generate("prop", tmp_path_factory.mktemp("prop") / "x", "--size", 3000))


def test_assignments_are_right_and_smallest(data):
    judge = make_judge("prop")
    for source, target in zip(*data):
        formula, answer = source.split(), target.split()
        assert source == " ".join(formula) and target == " ".join(answer)
        assert judge.verify(source, target) is Verdict.satisfied
        assert judge.verify(source, "") is Verdict.violated  # no tautology
        symbols = formula_symbols(formula)
        literals = smallest_assignment(truth_table(formula, symbols), len(symbols))
        assert answer == [t for j, value in literals for t in (symbols[j], str(value))]
        for i in range(0, len(answer), 2):  # every literal is needed
            less = " ".join(answer[:i] + answer[i + 2 :])
            assert judge.verify(source, less) is Verdict.violated


def test_lengths_are_uniform_once_there_are_enough_formulas(data):
    lengths = Counter(len(source.split()) for source in data[0])
    assert set(lengths) == set(range(1, 36))
    assert lengths[1] == lengths[2] == 1  # all there are, up to renaming: a, ! a
    assert all(55 < lengths[length] < 140 for length in range(6, 36)), lengths


def test_symbols_and_operators_are_those_that_were_named(data, tmp_path):
    assert {*" ".join(data[0]).split()} == {*"abcde", *BASE}
    generate("prop", tmp_path / "names", "--symbols", "f,go,h", "--size", 200)
    assert {*" ".join(read(tmp_path / "names")[0]).split()} == {"f", "go", "h", *BASE}
    generate("prop", tmp_path / "p", "--operators", "!,->", "--size", 200)
    assert {*" ".join(read(tmp_path / "p")[0]).split()} == {*"! -> 0 1 a b c d e".split()}


def test_labels_are_depth_first_if_asked_for(data, tmp_path):
    generate("prop", tmp_path / "first", "--size", 3000, "--labels", "depth-first")
    sources, targets = read(tmp_path / "first")
    assert sources == data[0] and targets != data[1]
    assert targets == [depth_first_answer(source.split()) for source in sources]
