"""A server on this machine that answers, and misbehaves, like one of a language model."""

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable, Dict, List, Optional

# Long enough to be a secret, and easy to find wherever it should not be.
KEY = "sk-test-0123456789"


def completion(content: Optional[str], **fields: Any) -> bytes:
    """A chat completion; fields go into the message."""
    message = {"role": "assistant", "content": content, **fields}
    choices = [{"index": 0, "finish_reason": "stop", "message": message}]
    return json.dumps({"id": "1", "model": "stub", "choices": choices}).encode()


def formula_of(request: Dict) -> str:
    """The formula that a request is about."""
    return re.split("Your Turn\nFormula: ", request["messages"][0]["content"])[1].split("\n")[0]


class ChatServer:
    """Answers requests, in threads; use it as a context manager.

    Args:
        answer: from a request to the body of the response.

    Attributes:
        answer: may be replaced at any time.
        status: of the responses.
        headers: of the responses, beside others.
        send: writes the body; may be replaced by what writes too much, or too slowly.
        requests: all so far.
        keys: the headers that should have the key.
    """

    def __init__(self, answer: Callable[[Dict], bytes]) -> None:
        self.answer, self.status, self.headers = answer, 200, {}
        self.send: Callable[[Callable[[bytes], Any], bytes], Any] = lambda write, body: write(body)
        self.requests: List[Dict] = []
        self.keys: List[str] = []
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_port}/v1"

    def __enter__(self) -> "ChatServer":
        # Looks for the end often: the default would cost each test half a second.
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *exception: Any) -> None:
        self._http.shutdown()
        self._http.socket.close()  # without waiting for threads that still send

    def _handler(self) -> type:
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                server.requests.append(request)
                server.keys.append(self.headers["Authorization"])
                self.send_response(server.status)
                self.send_header("Content-Type", "application/json")
                for name, value in server.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                try:
                    server.send(self.wfile.write, server.answer(request))
                except OSError:  # nobody listens any more
                    pass

            def log_message(self, *arguments: Any) -> None:
                """Says nothing."""

        return Handler
