"""Judges that somebody else has written, named by MODULE:CLASS."""

import os
import sys

import pytest

from sit_fairseq.errors import UserError
from sit_fairseq.judging.acceptance import accepting_judge
from sit_fairseq.judging.judge import make_judge
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


@pytest.mark.parametrize("name", ["Sorted", "Quick"])
def test_in_this_process_and_in_others(rules, name):
    judge = make_judge(f"{rules}:{name}")
    assert (judge.semantics, judge.name) == (f"{rules}:{name}", name)
    with JudgePool(judge, timeout=20) as pool:
        assert pool.verify_all(PAIRS) == VERDICTS


def test_they_verify(rules):
    assert accepting_judge(f"{rules}:Quick").verify(*PAIRS[0]) is Verdict.satisfied


@pytest.mark.parametrize(
    "named, message",
    [
        ("{}:Missing", r"--verify .*:Missing cannot be used \(AttributeError: .*\); mend rules_"),
        ("{}_gone:Sorted", r"ModuleNotFoundError: No module named .*_gone"),
        ("{}_broken:Sorted", r"No module named 'no_such_package'\); mend rules_.*_broken"),
        ("{}:Abstract", "TypeError: .* abstract .*verify"),
        ("{}:Failing", "LookupError: no rules here"),
        ("{}:NoJudge", "is no subclass of sit_fairseq.judging.judge.Judge; name one"),
        ("{}:PAIRS", "cannot be used"),
        (":Sorted", r"cannot be used \(ValueError"),
    ],
)
def test_what_cannot_be_used(rules, named, message):
    with pytest.raises(UserError, match=message):
        make_judge(named.format(rules), option="--verify")


def test_there_is_no_choice_among_them(rules):
    with pytest.raises(UserError, match="is a judge already; leave out --judge bits"):
        make_judge(f"{rules}:Quick", "bits")
