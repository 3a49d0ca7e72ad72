"""Answers that others have given, in each kind of file."""

import json

import pytest

from sit_fairseq.errors import UserError
from sit_fairseq.evaluation.answering import GivenAnswers

SOURCES = ["& a b", "X a", "& a b", "! c"]


def answers(path, sources=SOURCES, skip=()):
    batches = list(GivenAnswers(str(path)).decode(sources, skip))
    return {at: entry.answers for batch in batches for at, entry in batch.items()}


@pytest.fixture
def log(tmp_path):
    """A file of JSON lines."""

    def write(*entries):
        path = tmp_path / "some.jsonl"
        path.write_text("".join(f"{json.dumps(entry)}\n" for entry in entries))
        return path

    return write


def test_one_answer_a_line(tmp_path):
    path = tmp_path / "answers.txt"
    path.write_text("a 1 b 1\n\n{ a }\nc 0\n")
    assert answers(path) == {0: ["a 1 b 1"], 1: [""], 2: ["{ a }"], 3: ["c 0"]}
    assert answers(path, skip={0, 2}) == {1: [""], 3: ["c 0"]}
    with pytest.raises(UserError, match="has 4 answers to 3 sentences; change generated"):
        answers(path, SOURCES[:3])


def test_json_lines_are_looked_up_by_source(log):
    path = log(
        {"journal": "answers", "beam": 3},
        {"source": "! c", "content": "{}", "answer": "c  0"},
        {"source": "X a", "answer": "{ 1 }"},
        {"source": "& a b", "answer": "a 1 b 1"},
        {"source": "not asked", "answer": ""},
    )
    expected = {0: ["a 1 b 1"], 1: ["{ 1 }"], 2: ["a 1 b 1"], 3: ["c 0"]}
    assert answers(path) == answers(path, ["& a b ", *SOURCES[1:]]) == expected
    with pytest.raises(UserError, match="has no answer to '& b a'; change generated"):
        answers(path, ["& a b", "& b a"])


def test_two_answers_to_one_sentence_are_refused(log):
    one, other = ({"source": "& a b", "answer": answer} for answer in ("a 1 b 1", "a 1"))
    assert answers(log(one, one), ["& a b"]) == {0: ["a 1 b 1"]}
    with pytest.raises(UserError, match="two different answers to '& a b'"):
        answers(log(one, other), ["& a b"])


@pytest.mark.parametrize(
    "line",
    [
        *("[]", '{"source": "a"}', '{"source": "a", "answer": []}', "[" * 100_000),
        *('{"source": ["a"], "answer": "a"}', '{"source": 1, "answer": "a"}'),
    ],
)
def test_lines_without_answers_are_named(tmp_path, line):
    (tmp_path / "some.jsonl").write_text(f'{{"source": "a", "answer": ""}}\n{line}\n')
    with pytest.raises(UserError, match="line 2 of .*some.jsonl"):
        answers(tmp_path / "some.jsonl")
    with pytest.raises(UserError, match="none.txt"):
        answers(tmp_path / "none.txt")
