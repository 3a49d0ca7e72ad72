"""What answers took, by hand."""

import pytest

from sit_fairseq.evaluation.llm import expense
from sit_fairseq.evaluation.llm.endpoint import Reply


def reply(seconds=1.0, prompt=100, completion=10):
    return Reply("", "stop", "m", prompt, completion, seconds, 0)


def test_seconds():
    replies = [reply(seconds) for seconds in (4.0, 1.0, 2.0, 3.0, 10.0)]
    assert expense.seconds(replies) == pytest.approx({"mean": 4.0, "p50": 3.0, "p95": 8.8})


def test_cost():
    counts = expense.tokens([reply(), reply(prompt=900, completion=90)])
    assert counts == {"prompt": 1000, "completion": 100, "unknown": 0}
    assert expense.cost(counts, 2.0, 30.0) == pytest.approx(0.005)
    assert expense.cost(counts, 2.0, None) is None


def test_unknown_cost():
    counts = expense.tokens([reply(), reply(prompt=None), reply(completion=None)])
    assert counts == {"prompt": 100, "completion": 10, "unknown": 2}
    assert expense.cost(counts, 2.0, 30.0) is None
    assert expense.tokens([reply(prompt=None)]) == {"prompt": 0, "completion": 0, "unknown": 1}
