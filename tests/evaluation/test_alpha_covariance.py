import pytest

from sit_fairseq.errors import UserError
from sit_fairseq.evaluation.alpha_covariance import (
    alpha_covariance,
    alpha_covariance_table,
    choose_problems,
    measure_alpha_covariance,
)
from sit_fairseq.symbols.pattern import SymbolPattern

PATTERN = SymbolPattern("[a-f]")


def choose(sources, names="abc", counts=(1,), samples=10, max_renamings=120, pattern=PATTERN):
    return choose_problems(sources, pattern, list(names), counts, samples, max_renamings, seed=1)


def measured(answer, sources, counts=(1,), **options):
    """The result for a model that answers by a function."""
    problems = choose(sources, counts=counts, **options)
    answers = [answer(source) for problem in problems for source in problem.sources]
    return measure_alpha_covariance(problems, answers, counts)


def test_definition():
    assert alpha_covariance(["a", "a", "a"]) == 1.0
    assert alpha_covariance(["a", "b", "c"]) == 0.0
    assert alpha_covariance(["a", "b", "a", "a", "c"]) == 0.5


@pytest.mark.parametrize(
    "answer, covariance",
    [
        (lambda source: f"{source.split()[1]} 0", 1.0),
        # ! a, ! b, ! c are all answered a 0: undone, that is a 0, b 0 and c 0.
        (lambda source: "a 0", 0.0),
        # Undone: a 0, a 0, a 1, so two distinct answers to three renamings.
        (lambda source: "c 1" if "c" in source else f"{source.split()[1]} 0", 0.5),
    ],
    ids=["renames its answer", "always says the same", "fails on one name of three"],
)
def test_covariance_of_a_model_that(answer, covariance):
    result = measured(answer, ["! a"])["1"]
    assert result["mean"] == covariance and result["all_agree"].share == (covariance == 1)
    assert (result["samples"], result["renamings"]) == (1, [3, 3])


def test_means_by_number_of_symbols():
    def answer(source):
        """Invariant for one symbol, constant for two."""
        symbols = [token for token in source.split() if PATTERN.is_symbol(token)]
        return f"{symbols[0]} 1" if len(set(symbols)) == 1 else "1"

    sources = ["a", "& a b", "| a a", "& a & b c", "! b"]
    result = measured(answer, sources, counts=(1, 2), samples=2)
    assert [result[k]["samples"] for k in ("1", "2")] == [2, 1]
    assert [result[k]["renamings"] for k in ("1", "2")] == [[3, 3], [6, 6]]
    assert [result[k]["mean"] for k in ("1", "2")] == [1.0, 1.0]  # an answer without names is fine


def test_a_count_that_no_sentence_has_is_reported_as_such():
    result = measured(lambda source: source, ["a"], counts=(1, 2))
    assert result["2"]["samples"] == 0 and result["2"]["mean"] is None
    head, ones, twos = alpha_covariance_table(result)
    assert list(map(str, ones))[:4] == ["1", "1", "3", "100.00 %"]
    assert twos == ["2", 0, "", "", ""] and len(head) == 5


@pytest.mark.parametrize(
    "counts, names, words",
    [
        ((1,), "", "names"),
        ((1,), "a", "names or counts"),
        ((2,), "abc", "change counts"),
        ((1,), "ax", "'x' is no symbol"),
    ],
)
def test_what_cannot_be_measured_is_refused(counts, names, words):
    with pytest.raises(UserError, match=words):
        choose(["a"], counts=counts, names=names)


def test_fresh_symbols_may_have_any_names():
    """Two renamings; the answers have the first name that their source leaves."""
    (problem,) = choose(["! a"], names="bc")

    def covariance(answers, fresh=PATTERN):
        return alpha_covariance(problem.undone(answers, fresh))

    answers = [f"{source.split()[1]} {'c' if 'b' in source else 'b'}" for source in problem.sources]
    assert covariance(answers, None) == 0.0
    assert covariance(answers) == 1.0
    assert covariance([answers[0], answers[1].split()[0] * 2]) == 0.0
    assert covariance([f"{answers[0].split()[0]} 0", answers[1]]) == 0.0  # 0 is no fresh symbol
    assert covariance([f"{answers[0].split()[0]} 0", answers[1]]) == 0.0  # 0 is no first name
    assert covariance([answers[0], " ".join(answers[1].split()[::-1])]) == 0.0


def test_problems_of_several_sorts_may_have_different_numbers_of_renamings():
    pattern = SymbolPattern("small=[a-c]\nlarge=[A-B]")
    options = {"counts": (2,), "names": "abcAB", "pattern": pattern}
    result = measured(lambda source: source, ["a b", "a B"], **options)
    assert result["2"]["renamings"] == [6, 6] and result["2"]["mean"] == 1.0
    result = measured(lambda source: source, ["a B", "A B", "a b"], **options)
    assert alpha_covariance_table(result)[1][:3] == ["2", 3, "2–6"]


@pytest.mark.parametrize("most, found", [(120, 6), (5, 5)])
def test_symbols_get_names_of_their_sort(most, found):
    pattern = SymbolPattern("small=[a-c]\nlarge=[A-B]")
    (problem,) = choose(["a B a"], "abcAB", (2,), max_renamings=most, pattern=pattern)
    assert len(set(problem.sources)) == found
    assert all(renamed.islower() for source in problem.sources for renamed in source[::4])
    assert {source.split()[1] for source in problem.sources} == {"A", "B"}
    with pytest.raises(UserError, match="no two renamings of 'a B a'"):
        choose(["a B a"], "aB", (2,), pattern=pattern)
