"""A server on this machine that answers, and misbehaves, like an endpoint of a language model."""

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Union

# Long enough to be a secret, and easy to find wherever it should not be.
KEY = "sk-test-0123456789"


class Response(NamedTuple):
    """What the server sends; with a status of 0 it breaks the connection instead."""

    status: int
    body: bytes
    headers: Dict[str, str] = {}
    content_type: str = "application/json"


def completion(content: Optional[str], **fields: Any) -> Response:
    """A chat completion of 10 tokens for a prompt of 100; fields go into the message."""
    message = {"role": "assistant", "content": content, **fields}
    body = {
        "id": "1",
        "object": "chat.completion",
        "model": "stub-2026",
        "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
    }
    return Response(200, json.dumps(body).encode())


def failure(status: int, message: str = "so it is", **headers: str) -> Response:
    """An error as OpenAI reports it."""
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(status, json.dumps({"error": {"message": message}}).encode(), headers)


BROKEN = Response(0, b"")


def formula_of(body):
    """The formula that a request is about."""
    prompt = body["messages"][0]["content"]
    return re.split("Your [tT]urn\nFormula: ", prompt)[1].split("\n")[0]


class ChatServer:
    """Answers requests, in threads; use it as a context manager.

    Args:
        answer: from the body of a request to what is sent.

    Attributes:
        answer: may be replaced at any time.
        script: what is sent first, each once: a response, a function like ``answer``, or None
            for a response that does not come as long as the server runs.
        bodies: the bodies of all requests so far.
        authorizations: their headers of that name.
        paths: what they asked for.
    """

    def __init__(self, answer: Callable[[Dict], Response] = lambda body: completion("hi")) -> None:
        self.answer = answer
        self.script: List[Union[Response, Callable[[Dict], Response], None]] = []
        self.bodies: List[Dict] = []
        self.authorizations: List[str] = []
        self.paths: List[str] = []
        self._closing = threading.Event()
        self._lock = threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._http.server_port}/v1"

    def __enter__(self) -> "ChatServer":
        # Looks for the end often: the default would cost each test half a second.
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *exception: Any) -> None:
        self._closing.set()
        self._http.shutdown()
        self._http.server_close()

    def _handler(self) -> type:
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with server._lock:
                    server.bodies.append(body)
                    server.authorizations.append(self.headers["Authorization"])
                    server.paths.append(self.path)
                    response = server.script.pop(0) if server.script else server.answer
                if callable(response):
                    response = response(body)
                if response is None:
                    server._closing.wait()
                elif response.status:
                    self.send_response(response.status)
                    self.send_header("Content-Type", response.content_type)
                    self.send_header("Content-Length", str(len(response.body)))
                    for name, value in response.headers.items():
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(response.body)

            def log_message(self, *arguments: Any) -> None:
                """Says nothing."""

        return Handler
