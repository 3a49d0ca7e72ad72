"""Answers in Python: only what may be taken for one is true."""

import copy
import pickle

import pytest

from sit_fairseq.tasks.python_interface import Unanswered, Unverified


@pytest.mark.parametrize(
    "again", [lambda a: a, copy.deepcopy, lambda a: pickle.loads(pickle.dumps(a))]
)
def test_an_unverified_answer_is_text_but_false(again):
    answer = again(Unverified("a 1", "violated"))
    assert isinstance(answer, Unverified) and answer.verdict == "violated"
    assert answer == "a 1" and answer.split() == ["a", "1"] and f"{answer}!" == "a 1!"
    assert not answer and [text for text in (answer, "a 0") if text] == ["a 0"]
    assert repr(answer) == "Unverified('a 1', 'violated')"


def test_no_answer_is_false_and_no_text():
    assert not Unanswered("too long") and not isinstance(Unanswered("too long"), str)
