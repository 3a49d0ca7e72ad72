"""Judges by name: those of the package, and those that somebody else has written."""

import os
import sys
from functools import partial

import pytest

from sit_fairseq.domains.by_name import (
    SEMANTICS,
    accepting_judge,
    make_judge,
    of_file,
    refuse_other_domain,
)
from sit_fairseq.errors import UserError
from sit_fairseq.judging.pool import JudgePool
from sit_fairseq.judging.verdict import Verdict

RULES = """
from sit_fairseq.judging.judge import Judge
from sit_fairseq.judging.verdict import Verdict


class Sorted(Judge):
    def verify(self, problem, answer):
        right = answer.split() == sorted(problem.split())
        return Verdict.satisfied if right else Verdict.violated


class Quick(Sorted):
    quick = True


class NoJudge:
    pass


class Abstract(Judge):
    pass


class Failing(Sorted):
    def __init__(self):
        raise LookupError("no rules here")
"""

PAIRS = [("b a", "a b"), ("b a", "b a"), ("a", "a")]
VERDICTS = [Verdict.satisfied, Verdict.violated, Verdict.satisfied]


@pytest.fixture
def rules(tmp_path, monkeypatch):
    """A module of rules in the working directory."""
    name = f"rules_{os.path.basename(tmp_path)}".replace("-", "_")
    (tmp_path / f"{name}.py").write_text(RULES)
    (tmp_path / f"{name}_broken.py").write_text("import no_such_package\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return name


@pytest.mark.parametrize(
    "named, message",
    [(("nonsense",), "'nonsense'.*change verify"), (("prop", "spot"), "'spot'.*change judge")],
)
def test_names_without_a_judge(named, message):
    with pytest.raises(UserError, match=message):
        make_judge(*named, parameter="verify")


@pytest.mark.parametrize("name", ["Sorted", "Quick"])
def test_own_judges_judge_in_this_process_and_in_others(rules, name):
    judge = make_judge(f"{rules}:{name}")
    assert (judge.semantics, judge.name) == (f"{rules}:{name}", name)
    with JudgePool(judge, timeout=20) as pool:
        assert pool.verify_all(PAIRS) == VERDICTS
        assert pool.solvable(["a"]) == [None]
    assert accepting_judge(f"{rules}:{name}").verify(*PAIRS[0]) is Verdict.satisfied


@pytest.mark.parametrize(
    "named, message",
    [
        ("{}:Missing", "AttributeError"),
        ("{}_gone:Sorted", "ModuleNotFoundError: No module named .*_gone"),
        ("{}_broken:Sorted", r"'no_such_package'\); mend rules_.*_broken"),
        ("{}:Abstract", "TypeError"),
        ("{}:Failing", "LookupError: no rules here"),
        ("{}:NoJudge", "sit_fairseq.judging.judge.Judge or .*; change verify"),
    ],
)
def test_own_judges_that_cannot_be_used(rules, named, message):
    with pytest.raises(UserError, match=message):
        make_judge(named.format(rules), parameter="verify")
    with pytest.raises(UserError, match="'bits'"):
        make_judge(f"{rules}:Sorted", "bits")


def test_problems_of_judges_that_compare_with_references():
    for semantics in SEMANTICS:
        judge = make_judge(semantics)
        (problem,) = judge.problems(["a"], ["a 1"], "[a-z]")
        assert (problem, problem.reference, problem.symbols) == ("a", "a 1", "[a-z]")
        if semantics in ("exact", "alpha", "planning"):
            message = f"{semantics} compares answers with references.* change semantics"
            with pytest.raises(UserError, match=message):
                judge.problems(["a"])
        else:
            assert judge.problems(["a"]) == ["a"]


def test_a_judge_that_lacks_something_cannot_verify(monkeypatch):
    monkeypatch.setattr("sit_fairseq.domains.ltl.spot_judge.spot_installed", lambda: False)
    for name, message in (("ltl", "pip install spottl"), ("no", "verify"), ("exact", "verify")):
        with pytest.raises(UserError, match=message):
            accepting_judge(name)


def test_models_of_another_domain():
    for semantics, name in (("prop", "ltl"), ("copy", "prop")):
        with pytest.raises(UserError, match=f"{semantics} .* is of {name}; change verify"):
            refuse_other_domain(semantics, lambda parameter: name)
        refuse_other_domain("exact", lambda parameter: name)
        refuse_other_domain(name, lambda parameter: name)
    refuse_other_domain("prop", partial(of_file, None))
