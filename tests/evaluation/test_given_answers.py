"""Answers that others have given, in each kind of file."""

import pytest

from sit_fairseq.errors import UserError
from sit_fairseq.evaluation.given_answers import given_answers
from sit_fairseq.evaluation.llm.answer_log import AnswerLog
from sit_fairseq.evaluation.llm.endpoint import Reply

SOURCES = ["& a b", "X a", "& a b", "! c"]
CONTENTS = {"a & b": '{"a": true, "b": true}', "X a": "1; a; cycle{1}", "!c": "no idea"}


def reply(content):
    return Reply(content, "stop", "m", 1, 1, 0.5, 0)


@pytest.fixture
def log(tmp_path):
    path = str(tmp_path / "some.answers.jsonl")
    with AnswerLog(path) as log:
        for formula, content in CONTENTS.items():
            log.keep(f"key of {formula}", formula, reply(content))
    return path


def decoded(path, sources=SOURCES, skip=()):
    return {
        position: answers
        for positions, nbest in given_answers(str(path)).decode(sources, skip)
        for position, answers in zip(positions, nbest)
    }


def test_one_answer_a_line(tmp_path):
    path = tmp_path / "answers.txt"
    path.write_text("a 1 b 1\n\n{ a }\nc 0\n")
    expected = {0: ["a 1 b 1"], 1: [""], 2: ["{ a }"], 3: ["c 0"]}
    assert decoded(path) == expected
    assert decoded(path, skip={0, 2}) == {1: [""], 3: ["c 0"]}
    with pytest.raises(UserError, match="has 4 lines, but there are 3 sentences: --generated"):
        decoded(path, SOURCES[:3])


def test_many_lines_come_in_their_order(tmp_path):
    path = tmp_path / "answers.txt"
    answers = [f"a {number}" for number in range(150)]
    path.write_text("\n".join(answers))
    assert decoded(path, ["a"] * 150) == dict(enumerate([answer] for answer in answers))


def test_the_log_of_a_language_model_is_looked_up_by_formula(log):
    found = decoded(log)
    assert found[0] == found[2] == ["a 1 b 1"]
    assert found[1] == ["1 ; a ; { 1 }"]
    assert found[3] == ["unreadable ? 3"]


def test_the_log_of_version_0_1_and_half_a_line(log):
    lines = open(log).read().splitlines(keepends=True)
    with open(log, "w") as file:
        file.writelines([*lines[1:], lines[1][:20]])
    assert decoded(log)[0] == ["a 1 b 1"]


@pytest.mark.parametrize("sources", [["& a b", "& b a"], ["a", "& a b"], ["& a", "X a"]])
def test_what_was_not_asked_is_counted(log, sources):
    with pytest.raises(UserError, match="answers 1 of 2 sentences; .*sit ask-llm"):
        decoded(log, sources)


def test_two_answers_to_one_formula_are_refused(log):
    with AnswerLog(log) as again:
        again.keep("other", "a & b", reply(CONTENTS["a & b"]))
    assert decoded(log)
    with AnswerLog(log) as again:
        again.keep("third", "a & b", reply("{}"))
    with pytest.raises(UserError, match=r"two answers to a & b; ask with another --result"):
        decoded(log)


@pytest.mark.parametrize("damage", ["[]", '{"formula": "a"}', '{"formula": "a", "content": 1'])
def test_damaged_logs_are_named(log, damage):
    with open(log, "a") as file:
        file.write(damage + "\n")
    with pytest.raises(UserError, match="Line 5 of .*answers.jsonl is damaged"):
        given_answers(log)


def test_files_that_cannot_be_read_are_named(tmp_path):
    with pytest.raises(UserError, match="Cannot read .*none.txt.*--generated"):
        given_answers(str(tmp_path / "none.txt"))


GENERATED = """2026-01-01 | INFO | fairseq | loaded
S-1\t| b c
T-1\tb 1
H-1\t-0.5\tc 1
D-1\t-0.5\tc 1
P-1\t-0.1 -0.2
H-1\t-0.9\tb 1
S-2\t! ! a
H-2\t-inf\t
S-0\t! <unk>
T-0\ta 0
H-0\t-0.1\ta 0
"""


@pytest.fixture
def printed(tmp_path):
    path = tmp_path / "out.txt"
    path.write_text(GENERATED)
    return path


def test_output_of_fairseq_generate_in_the_order_of_the_lines(printed):
    assert decoded(printed, ["! a", "| b c", "! ! a"]) == {0: ["a 0"], 1: ["c 1"], 2: [""]}


@pytest.mark.parametrize(
    "sources, words",
    [
        (["! a", "| b c"], "answers to 3 sentences, but there are 2"),
        (["! a", "| b d", "! ! a"], "does not answer line 2"),
        (["! ! a", "| b c", "! ! a"], "does not answer line 1"),
    ],
)
def test_output_of_other_data_is_refused(printed, sources, words):
    with pytest.raises(UserError, match=words):
        decoded(printed, sources)
