"""Answers in Python."""

import copy
import pickle

import pytest

from sit_fairseq.tasks.python_interface import Unverified


@pytest.mark.parametrize(
    "again", [copy.deepcopy, lambda answer: pickle.loads(pickle.dumps(answer))]
)
def test_a_copy_of_an_unverified_answer_is_one(again):
    answer = again(Unverified("a 1", "violated"))
    assert isinstance(answer, Unverified) and answer == "a 1" and answer.verdict == "violated"
