"""The endpoint: which failures are repeated, what is said of the others, and the key."""

import logging
import socket
import sys
import time
import traceback

import pytest
from chat_server import BROKEN, KEY, ChatServer, Response, completion, failure

from sit_fairseq.errors import UserError
from sit_fairseq.evaluation.llm.endpoint import Endpoint, check_base_url

REQUEST = {"model": "m", "messages": [{"role": "user", "content": "question"}]}


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with ChatServer() as server:
        yield server


@pytest.fixture
def pauses(monkeypatch):
    """The seconds that were to be waited for; nobody waits."""
    seconds = []
    monkeypatch.setattr(time, "sleep", seconds.append)
    return seconds


def ask(server, timeout=60.0, max_retries=3):
    return Endpoint(server.url, timeout, max_retries).answer(REQUEST)


def complaint(*arguments, **options):
    with pytest.raises(UserError) as error:
        ask(*arguments, **options)
    return str(error.value)


def test_an_answer(server):
    server.script = [completion("a; cycle{b}")]
    reply = ask(server)
    assert reply._replace(seconds=0) == ("a; cycle{b}", "stop", "stub-2026", 100, 10, 0, 0)
    assert reply.seconds > 0
    assert server.paths == ["/v1/chat/completions"]
    assert server.authorizations == [f"Bearer {KEY}"]
    assert server.bodies == [REQUEST]


@pytest.mark.parametrize(
    "first", [failure(429), failure(408), failure(409), failure(500), failure(503), BROKEN]
)
def test_what_may_pass_is_repeated(server, pauses, first):
    server.script = [first, first, completion("at last")]
    reply = ask(server)
    assert (reply.content, reply.retries) == ("at last", 2)
    assert len(server.bodies) == 3


def test_pauses_double_and_end(server, pauses):
    server.answer = lambda body: failure(503, "overloaded")
    message = complaint(server, max_retries=6)
    assert "status 503: overloaded" in message and "--max-retries" in message
    assert len(server.bodies) == 7
    for pause, longest in zip(pauses, [0.5, 1, 2, 4, 8, 8], strict=True):
        assert 0.75 * longest <= pause <= longest
    assert pauses[-1] != pauses[-2]  # equal but for the random part


def test_the_server_says_how_long_to_wait(server, pauses):
    server.script = [failure(429, Retry_After="7"), completion("hi")]
    assert ask(server).content == "hi"
    assert pauses == [7.0]


def test_nobody_waits_for_an_hour(server, pauses):
    server.script = [failure(429, "come back later", Retry_After="3600")]
    assert "status 429: come back later" in complaint(server)
    assert (len(server.bodies), pauses) == (1, [])


@pytest.mark.parametrize(
    "status, hint",
    [
        (400, "check --model and the options"),
        (401, "check OPENAI_API_KEY"),
        (403, "check OPENAI_API_KEY"),
        (404, "check --base-url and --model"),
        (422, "check --model and the options"),
    ],
)
def test_what_will_not_pass_is_not_repeated(server, pauses, status, hint):
    server.answer = lambda body: failure(status, "no such thing.")
    message = complaint(server)
    assert f"answers with status {status}: no such thing; {hint}" in message
    assert message.count("\n") == 0
    assert (len(server.bodies), pauses) == (1, [])


def test_a_slow_answer_is_asked_for_again(server, pauses):
    server.script = [None]
    reply = ask(server, timeout=0.5, max_retries=9)
    assert reply.content == "hi"
    assert reply.retries == len(pauses) >= 1  # more if this machine is busy


def test_an_answer_that_does_not_come(server, pauses):
    server.script = [None, None]
    assert "within 0.1 s; raise --timeout" in complaint(server, timeout=0.1, max_retries=1)
    assert len(pauses) == 1


def test_nobody_listens(server, pauses):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        server.url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    message = complaint(server, max_retries=2)
    assert "Cannot reach" in message and "refused" in message
    assert len(pauses) == 2


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b'{"choices": [',
        b"<html>welcome</html>",
        b"[]",
        b"{}",
        b'{"choices": null}',
        b'{"choices": []}',
        b'{"choices": [{}]}',
        b'{"choices": [{"message": null}]}',
        b'{"choices": [{"message": {"content": ["hi"]}}]}',
        b"\xff\xfe",
        b"[" * 100000,
    ],
)
@pytest.mark.parametrize("content_type", ["application/json", "text/html"])
def test_something_else_comes_back(server, body, content_type):
    server.script = [Response(200, body, {}, content_type)]
    message = complaint(server)
    assert "is not a chat completion" in message and "check --base-url" in message
    assert len(server.bodies) == 1


def test_a_refusal_or_nothing_is_an_answer(server):
    server.script = [completion(None, refusal="I must not."), completion(None)]
    assert [ask(server).content, ask(server).content] == ["I must not.", ""]


def test_servers_that_say_little(server):
    server.script = [
        Response(200, b'{"choices": [{"message": {"content": "hi"}}], "usage": {"x": 1}}')
    ]
    reply = ask(server)
    assert reply._replace(seconds=0) == ("hi", None, None, None, None, 0, 0)


def test_what_no_file_can_hold_is_replaced(server):
    body = b'{"choices": [{"message": {"content": "a \\ud800"}, "finish_reason": "\\udfff"}], '
    server.script = [
        Response(200, body + b'"model": "m\\udc00"}'),
        failure(400, "what \ud800"),
    ]
    reply = ask(server)
    assert (reply.content, reply.finish_reason, reply.model) == ("a ?", "?", "m?")
    assert "what ?;" in complaint(server)


def test_the_key_is_never_seen(server, pauses, caplog, capfd):
    """A server that repeats it everywhere, with all there is to log."""
    caplog.set_level(logging.DEBUG)
    server.script = [
        failure(500, f"is it {KEY}?"),
        completion(f"you are {KEY}", refusal=KEY),
        *[failure(status, f"Bearer {KEY} is wrong") for status in (401, 400)],
        Response(200, f"what is {KEY}".encode()),
    ]
    seen = [repr(ask(server))]
    assert "you are ***" in seen[0]
    for _ in range(3):
        with pytest.raises(UserError) as error:
            ask(server)
        assert "***" in str(error.value)
        assert error.value.__context__ is error.value.__cause__ is None
        seen += [repr(error.value), "".join(traceback.format_exception(error.value))]
    out, err = capfd.readouterr()
    assert caplog.text.count("HTTP Response") == 5  # there was a log
    assert KEY not in "".join([*seen, out, err, caplog.text])


def test_a_placeholder_is_no_secret(server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "a")
    server.script = [completion("cycle{a}")]
    assert ask(server).content == "cycle{a}"


def test_a_key_from_a_file(server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", f" {KEY}\r\n")
    ask(server)
    assert server.authorizations == [f"Bearer {KEY}"]


@pytest.mark.parametrize("key", ["", " \n", "two\nlines", "Schlüssel", "tab\tkey"])
def test_what_is_no_key(server, monkeypatch, key):
    monkeypatch.setenv("OPENAI_API_KEY", key)
    message = complaint(server)
    assert message.startswith("The environment variable OPENAI_API_KEY holds no key; set it")
    assert not server.bodies


def test_no_key(server, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    assert "OPENAI_API_KEY holds no key" in complaint(server)


def test_no_library(server, monkeypatch):
    monkeypatch.setitem(sys.modules, "openai", None)
    assert complaint(server) == "Asking a language model needs openai: pip install openai."


@pytest.mark.parametrize(
    "url",
    [
        "localhost:8000",
        "ftp://host/v1",
        "http://",
        "http://h:99999/v1",
        "http://[::1/v1",
        "http://a..b",
        "http://h\n",
        "",
    ],
)
def test_what_is_no_address(url):
    with pytest.raises(UserError, match="--base-url is no address"):
        check_base_url(url)


@pytest.mark.parametrize(
    "url", ["https://me:secret@host/v1", "https://secret@host/v1", "https://host/v1?key=secret"]
)
def test_addresses_with_secrets(url):
    with pytest.raises(UserError, match="more than an address") as error:
        check_base_url(url)
    assert "secret@" not in str(error.value) and "=secret" not in str(error.value)


@pytest.mark.parametrize("url", ["http://localhost:8000/v1", "https://[::1]:8/v1/", "http://h"])
def test_addresses(url):
    check_base_url(url)
