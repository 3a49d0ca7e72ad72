"""Asking many questions: what is kept, what is not asked again, and when it stops."""

import json
import threading

import pytest
from chat_server import KEY, ChatServer, completion, failure, formula_of

from sit_fairseq.errors import UserError
from sit_fairseq.evaluation.llm import asking
from sit_fairseq.evaluation.llm.answer_log import AnswerLog
from sit_fairseq.evaluation.llm.asking import ask_all, make_question
from sit_fairseq.evaluation.llm.dialect import DIALECTS, Example
from sit_fairseq.evaluation.llm.endpoint import Endpoint, Reply

URL = "http://localhost/v1"
FORMULAS = ["& a b", "| a b", "! a", "xor a b", "a", "-> a b"]
REPLY = Reply('{"a": true} – ünï\ud800', "stop", "stub", 100, 10, 0.25, 1)


def ask_about(server, path, formulas, concurrency=1, **options):
    """Asks about formulas and returns the contents of the answers."""
    options = {"model": "m", **options}
    questions = [make_question(DIALECTS["prop"], formula, [], options) for formula in formulas]
    with AnswerLog(str(path)) as log:
        endpoint = Endpoint(server.url, 60.0, 0)
        keys = [question.key(server.url) for question in questions]
        ask_all(endpoint, log, dict(zip(keys, questions)), concurrency)
        return [log[key].content for key in keys]


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with ChatServer(lambda body: completion(formula_of(body))) as server:
        yield server


def test_request():
    question = make_question(
        DIALECTS["prop"], "& a b", [Example("! c", "c 0")], {"model": "m", "temperature": 0.0}
    )
    assert question.formula == "a & b"
    assert "Example 1\nFormula: !c\n" in question.prompt
    schema = DIALECTS["prop"].schema("& a b")
    assert question.request == {
        "model": "m",
        "temperature": 0.0,
        "messages": [{"role": "user", "content": question.prompt}],
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "answer", "strict": True, "schema": schema},
        },
    }
    ltl = make_question(DIALECTS["ltl"], "& a b", [], {"model": "m"}).request
    assert set(ltl) == {"model", "messages"}


def test_an_answer_belongs_to_all_it_depends_on():
    def key(url=URL, formula="a", examples=(), dialect="prop", **options):
        return make_question(DIALECTS[dialect], formula, examples, options).key(url)

    same, *others = [
        key(model="m"),
        key(model="n"),
        key(model="m", temperature=0.0),
        key(model="m", formula="b"),
        key(model="m", dialect="ltl"),
        key(model="m", examples=[Example("! c", "c 0")]),
        key(model="m", url="http://localhost/v2"),
    ]
    assert key(model="m") == same
    assert len({same, *others}) == 7


def test_replies_survive(tmp_path):
    path = tmp_path / "new" / "log"
    with AnswerLog(str(path)) as log:
        log.keep("k1", "a & b", REPLY)
        assert "k1" in log and "k2" not in log
    with AnswerLog(str(path)) as log:
        log.keep("k2", "b", REPLY._replace(content="", model=None))
    with AnswerLog(str(path)) as log:
        assert log["k1"] == REPLY
        assert log["k2"].content == ""
    _, first, second = map(json.loads, path.read_text().splitlines())
    assert (first["key"], first["formula"], second["key"]) == ("k1", "a & b", "k2")


@pytest.mark.parametrize("lost", [1, 2, 40])
def test_a_line_cut_off_is_dropped(tmp_path, lost):
    path = tmp_path / "log"
    with AnswerLog(str(path)) as log:
        log.keep("k1", "a", REPLY)
        log.keep("k2", "a", REPLY)
    whole = path.read_bytes()
    path.write_bytes(whole[:-lost])
    with AnswerLog(str(path)) as log:
        assert "k1" in log and "k2" not in log
        log.keep("k2", "a", REPLY)
    assert path.read_bytes() == whole


@pytest.mark.parametrize(
    "line",
    [
        "hello",
        "{}",
        "[1]",
        '{"key": "k"}',
        "",
        json.dumps({"key": "k", **REPLY._asdict(), "content": 1}),
    ],
)
def test_other_files_are_left_alone(tmp_path, line):
    path = tmp_path / "log"
    with AnswerLog(str(path)) as log:
        log.keep("k1", "a", REPLY)
    text = path.read_text() + line + "\n"
    path.write_text(text)
    with pytest.raises(UserError, match="Line 3 of .* is damaged; .*--result"):
        AnswerLog(str(path))
    assert path.read_text() == text


def test_a_log_of_version_0_1_is_taken_up(tmp_path):
    path = tmp_path / "log"
    line = json.dumps({"key": "k1", "formula": "a", **REPLY._asdict()}) + "\n"
    path.write_text(line + line[:20])
    for _ in range(2):
        with AnswerLog(str(path)) as log:
            assert log["k1"] == REPLY
    assert path.read_text().endswith(line)


def test_only_one_run_at_a_time_pays(tmp_path):
    with AnswerLog(str(tmp_path / "log")):
        with pytest.raises(UserError, match="in use by another process; .*--result"):
            AnswerLog(str(tmp_path / "log"))


def test_a_log_that_cannot_be_written(tmp_path):
    with pytest.raises(UserError, match="Is a directory; change --result"):
        AnswerLog(str(tmp_path))


def test_all_are_asked_and_none_twice(server, tmp_path):
    log = tmp_path / "log"
    contents = ["a & b", "a | b", "!a", "a xor b", "a", "a -> b"]
    assert ask_about(server, log, FORMULAS[:3] * 2, 2) == contents[:3] * 2
    assert len(server.bodies) == 3
    assert ask_about(server, log, FORMULAS, 2) == contents
    assert len(server.bodies) == 6
    assert ask_about(server, log, FORMULAS, 2) == contents
    assert len(server.bodies) == 6
    assert ask_about(server, log, FORMULAS[:1], temperature=1.0) == contents[:1]
    assert len(server.bodies) == 7


@pytest.mark.parametrize("concurrency", [1, 2, 3])
def test_so_many_at_once_and_no_more(server, tmp_path, concurrency):
    together, room = threading.Barrier(concurrency), threading.Semaphore(concurrency)

    def answer(body):
        crowded = not room.acquire(blocking=False)
        together.wait(timeout=10)  # breaks unless all are there
        room.release()
        return failure(400, "too many") if crowded else completion("hi")

    server.answer = answer
    assert ask_about(server, tmp_path / "log", FORMULAS, concurrency) == ["hi"] * 6


def test_the_first_failure_ends_it(server, tmp_path):
    server.script = [completion("one"), completion("two"), failure(401, "expired")]
    with pytest.raises(UserError, match="status 401: expired"):
        ask_about(server, tmp_path / "log", FORMULAS)
    assert len(server.bodies) == 3
    assert ask_about(server, tmp_path / "log", FORMULAS[:3]) == ["one", "two", "!a"]
    assert [formula_of(body) for body in server.bodies[3:]] == ["!a"]


def test_requests_under_way_are_waited_for(server, tmp_path, monkeypatch):
    """One fails while the other, which is paid for, is still being answered."""
    both, stopping = threading.Barrier(2), threading.Event()
    monkeypatch.setattr(asking.tqdm, "write", lambda *arguments: stopping.set())

    def answer(body):
        both.wait(timeout=10)
        if formula_of(body) == "a & b":
            return failure(400, "not this one")
        assert stopping.wait(10)
        return completion("paid for")

    server.answer = answer
    with pytest.raises(UserError, match="not this one"):
        ask_about(server, tmp_path / "log", FORMULAS, concurrency=2)
    assert len(server.bodies) == 2
    assert ask_about(server, tmp_path / "log", FORMULAS[1:2]) == ["paid for"]
    assert len(server.bodies) == 2
