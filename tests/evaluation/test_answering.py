import json
import threading
from pathlib import Path

import pytest

from sit_fairseq.domains.by_name import make_judge
from sit_fairseq.errors import UserError
from sit_fairseq.evaluation.answering import Answered, answer_all
from sit_fairseq.judging.judge import Judge, Problem
from sit_fairseq.judging.pool import JudgePool
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.storage.journal import Journal

SOURCES = [f"| a {name}" for name in "bcdefghijk"]


class FakeAnswerer:
    """Answers by a function, in small batches from the last sentence to the first, until Ctrl-C is
    pressed after some; ``verdicts`` of ``judge`` are on the first answers to each sentence."""

    def __init__(self, answer, interrupt_after=None, judge=None, verdicts=()):
        self.answer, self.interrupt_after = answer, interrupt_after
        self.judge, self.verdicts, self.answered = judge, list(verdicts), []

    def decode(self, sources, skip=()):
        order = list(reversed(range(len(sources))))
        for number, first in enumerate(range(0, len(order), 3)):
            if number == self.interrupt_after:
                raise KeyboardInterrupt
            batch = order[first : first + 3]
            if not all(position in skip for position in batch):
                self.answered += [sources[position] for position in batch]
                yield {at: Answered(self.answer(sources[at]), list(self.verdicts)) for at in batch}


def first_symbol(source):
    return [f"{source.split()[1]} 1", f"{source.split()[2]} 1", "a"]


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "answers.jsonl")


def answer(path, answerer, problems=tuple(map(Problem, SOURCES)), judge=None):
    """Answers, and verdicts by a judge in this process."""
    with Journal(path, "answers", {}, advice="pass --restart", where="--result") as journal:
        with JudgePool(judge or make_judge("prop"), workers=0) as judges:
            return answer_all(answerer, problems, journal, judges)


def seen(answered):
    """All but the time."""
    return [(entry.answers, entry.verdicts) for entry in answered]


def test_an_interrupted_run_continues_where_it_stopped(path, tmp_path):
    whole = seen(answer(str(tmp_path / "whole"), FakeAnswerer(first_symbol)))
    interrupted = FakeAnswerer(first_symbol, interrupt_after=2)
    with pytest.raises(KeyboardInterrupt):
        answer(path, interrupted)
    # Both batches that were answered are on disk, the one that was being judged too.
    assert len(interrupted.answered) == len(open(path).readlines()) - 1 == 6
    rest = FakeAnswerer(first_symbol)
    assert seen(answer(path, rest)) == whole
    assert sorted(rest.answered + interrupted.answered) == SOURCES
    complete = FakeAnswerer(first_symbol)
    assert seen(answer(path, complete)) == whole and complete.answered == []


@pytest.mark.parametrize(
    "damage",
    [
        {},
        {"index": 0, "source": SOURCES[0], "answers": ["a"], "verdicts": ["right"], "seconds": 1},
        {"index": 0, "source": SOURCES[0], "answers": [None], "verdicts": [], "seconds": 1},
        {"index": 0, "source": SOURCES[1], "answers": ["a"], "verdicts": [], "seconds": 1},
        {"index": 0, "source": SOURCES[0], "answers": ["a"], "verdicts": [], "seconds": 10**400},
        {"index": 1e999, "source": SOURCES[0], "answers": ["a"], "verdicts": [], "seconds": 1},
    ],
)
def test_a_damaged_journal_is_named(path, damage):
    answer(path, FakeAnswerer(first_symbol))
    lines = open(path).read().splitlines(keepends=True)
    with open(path, "w") as file:
        file.write(lines[0] + json.dumps(damage) + "\n")
    with pytest.raises(UserError, match="Line 2 of .*answers.jsonl is damaged; .*--restart"):
        answer(path, FakeAnswerer(first_symbol))


def test_verdicts_of_a_journal_are_asked_for_again(path):
    """Whatever they say; the last line of an index has the new ones."""
    whole = seen(answer(path, FakeAnswerer(first_symbol)))
    head, *lines = open(path).read().splitlines()
    forged = [{**json.loads(line), "verdicts": ["satisfied"] * 3} for line in lines]
    with open(path, "w") as file:
        file.write("\n".join([head, *map(json.dumps, forged)]) + "\n")
    again = FakeAnswerer(first_symbol)
    assert seen(answer(path, again)) == whole and again.answered == []
    last = {entry["index"]: entry for entry in map(json.loads, open(path).readlines()[1:])}
    assert [last[at]["verdicts"] for at in range(10)] == [v for _, v in whole]


@pytest.mark.parametrize("own, asked", [(None, 0), (make_judge("prop"), len(SOURCES))])
def test_an_answer_chosen_without_a_verdict_is_asked_for_again(path, own, asked):
    class Late(Counting):
        def verify(self, problem, answer):
            return Verdict.timeout

    answer(path, FakeAnswerer(first_symbol, judge=own), judge=Late())
    again = FakeAnswerer(first_symbol, judge=own)
    answered = answer(path, again)
    assert len(again.answered) == asked and answered[0].verdicts[0] is Verdict.satisfied


class Counting(Judge):
    """Calls everything violated, and counts how often."""

    semantics, name, quick = "prop", "counting", True

    def __init__(self):
        self.asked = 0

    def verify(self, problem, answer):
        self.asked += 1
        return Verdict.violated


def other():
    """Another object of the same class."""
    judge = Counting()
    judge.semantics = "mine:OTHER"
    return judge


@pytest.mark.parametrize(
    "own, asked",
    [(None, 30), (make_judge("prop"), 30), (other(), 30), (Counting(), 20)],
    ids=["of nobody", "of another kind", "of another name", "of the same kind"],
)
def test_a_verdict_of_the_same_kind_of_judge_is_not_asked_for_again(path, own, asked):
    judge = Counting()
    answerer = FakeAnswerer(first_symbol, judge=own, verdicts=[Verdict.satisfied])
    answered = answer(path, answerer, judge=judge)
    first = Verdict.satisfied if asked == 20 else Verdict.violated
    assert judge.asked == asked
    assert all(entry.verdicts == [first, *[Verdict.violated] * 2] for entry in answered)


def test_a_batch_is_judged_while_the_next_one_is_answered(path):
    second_begun = threading.Event()

    class Patient(Counting):
        def verify(self, problem, answer):
            # Would wait in vain if the second batch were answered after this.
            return Verdict.satisfied if second_begun.wait(20) else Verdict.timeout

    class Signalling(FakeAnswerer):
        def decode(self, sources, skip=()):
            for number, batch in enumerate(super().decode(sources, skip)):
                if number == 1:
                    second_begun.set()
                yield batch

    problems = list(map(Problem, SOURCES[:6]))
    answered = answer(path, Signalling(first_symbol), problems, Patient())
    assert {verdict for entry in answered for verdict in entry.verdicts} == {Verdict.satisfied}


def test_what_the_judge_raises_reaches_the_caller_and_costs_no_answer(path):
    class Broken(Counting):
        def verify(self, problem, answer):
            raise RuntimeError("broken judge")

    with pytest.raises(RuntimeError, match="broken judge"):
        answer(path, FakeAnswerer(first_symbol), judge=Broken())
    kept = [json.loads(line) for line in Path(path).read_text().splitlines()[1:]]
    assert kept and all(entry["answers"] for entry in kept)
