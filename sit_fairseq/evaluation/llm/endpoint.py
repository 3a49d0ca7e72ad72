"""An OpenAI-compatible endpoint: requests, repetitions and what can go wrong.

The only file that imports ``openai``, and only when it is needed.
"""

import json
import os
from typing import Any, Dict, NamedTuple, Optional
from urllib.parse import urlsplit

from sit_fairseq.errors import UserError

# The only place that the key is taken from.
KEY_VARIABLE = "OPENAI_API_KEY"

# A shorter key is a placeholder for a server that asks for none ("EMPTY", "x"), and taking
# it out of texts might change answers.
_SECRET_LENGTH = 8

# No host takes longer to accept a connection.
_CONNECT_SECONDS = 10.0

_LONGEST_MESSAGE = 300


class Reply(NamedTuple):
    """The answer to one request.

    Attributes:
        content: what the model wrote, or why it refused to.
        finish_reason: why it stopped, e.g. ``stop`` or ``length``.
        model: the model that answered, as the server calls it.
        prompt_tokens: number of tokens read; None if the server does not say.
        completion_tokens: number of tokens written, those of the reasoning included.
        seconds: from the request to the end of the answer, without failed attempts.
        retries: number of failed attempts.
    """

    content: str
    finish_reason: Optional[str]
    model: Optional[str]
    prompt_tokens: Optional[int]
    completion_tokens: Optional[int]
    seconds: float
    retries: int


def check_base_url(url: str) -> None:
    """Checks an address before anything is sent to it or written about it.

    Args:
        url: the value of ``--base-url``.

    Raises:
        UserError: it is no address, or may hold a secret.
    """
    try:
        parts = urlsplit(url)
        known = parts.scheme in ("http", "https") and parts.port != 0 and url.isprintable()
        known = known and bool(parts.hostname and parts.hostname.encode("idna"))
    except ValueError:
        known = False
    if not known:
        raise UserError("--base-url is no address; give one such as http://localhost:8000/v1.")
    if parts.username is not None or parts.query or parts.fragment:
        raise UserError(
            "--base-url holds more than an address, maybe a secret; "
            f"leave out user, password and query, and put the key into {KEY_VARIABLE}."
        )


def _count(value: Any) -> Optional[int]:
    """A number of tokens if it is one."""
    return value if isinstance(value, int) else None


def openai_version() -> str:
    """The version of the library, which must be installed."""
    import openai

    return openai.__version__


class Endpoint:
    """Sends requests, again if there is hope, and never shows its key.

    ``openai`` decides about repetitions. It repeats after statuses 408, 409, 429 and 5xx,
    time-outs and broken connections; it waits as long as ``Retry-After`` demands (up to two
    minutes, else it gives up), or 0.5 seconds, doubled each time up to 8, less a random part
    of up to a quarter. A header ``x-should-retry`` overrules the status.

    Args:
        base_url: the address without ``/chat/completions``.
        timeout: seconds without a sign of the server after which an attempt has failed.
        max_retries: how often a request is repeated.

    Attributes:
        base_url: the address.

    Raises:
        UserError: ``openai`` or the key is missing, or the address is none.
    """

    def __init__(self, base_url: str, timeout: float, max_retries: int) -> None:
        check_base_url(base_url)
        try:
            import openai
        except ImportError:
            raise UserError("Asking a language model needs openai: pip install openai.")
        # A line end, as files of keys have, would be an error that shows the key.
        self._key = os.environ.get(KEY_VARIABLE, "").strip()
        if not self._key or not self._key.isascii() or not self._key.isprintable():
            raise UserError(
                f"The environment variable {KEY_VARIABLE} holds no key; set it (to any word, if "
                "the server asks for no key)."
            )
        self._openai = openai
        self.base_url = base_url
        self._timeout = timeout
        self._client = openai.OpenAI(
            api_key=self._key,
            base_url=base_url,
            timeout=openai.Timeout(timeout, connect=min(timeout, _CONNECT_SECONDS)),
            max_retries=max_retries,
        )

    def answer(self, request: Dict) -> Reply:
        """Sends a request.

        Args:
            request: the body of a request for a chat completion.

        Returns:
            The answer.

        Raises:
            UserError: the server refuses it, cannot be reached, or answers with something
                that is not a chat completion.
        """
        try:
            raw = self._client.chat.completions.with_raw_response.create(**request)
        except self._openai.APIError as error:
            message = self._explain(error)
        else:
            try:
                return self._read(raw)
            except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
                message = (
                    f"What {self.base_url} answers is not a chat completion: "
                    f"{self._clean(raw.text) or 'nothing'}; check --base-url."
                )
        # Outside of the handlers, so that no exception with the request hangs on to it.
        raise UserError(message)

    def _read(self, raw) -> Reply:
        """Takes from a response what is needed; raises what reading strange JSON raises."""
        body = json.loads(raw.text)
        choice = body["choices"][0]
        content = choice["message"].get("content")
        if content is None:
            content = choice["message"].get("refusal") or ""
        usage = body.get("usage") or {}
        if not isinstance(content, str):
            raise TypeError("content is no text")
        return Reply(
            content=self._harmless(content),
            finish_reason=self._harmless(choice.get("finish_reason")),
            model=self._harmless(body.get("model")),
            prompt_tokens=_count(usage.get("prompt_tokens")),
            completion_tokens=_count(usage.get("completion_tokens")),
            seconds=raw.elapsed.total_seconds(),
            retries=raw.retries_taken,
        )

    def _explain(self, error: Exception) -> str:
        """One sentence about a failure, with the option to change."""
        openai = self._openai
        if isinstance(error, openai.APITimeoutError):
            return f"No answer from {self.base_url} within {self._timeout:g} s; raise --timeout."
        if isinstance(error, openai.APIConnectionError):
            reason = self._clean(str(error.__cause__))
            return f"Cannot reach {self.base_url} ({reason}); check --base-url and the server."
        status = getattr(error, "status_code", None)
        body = error.body if isinstance(error.body, dict) else {}
        said = self._clean(str(body.get("message") or error))
        if status in (401, 403):
            hint = f"check {KEY_VARIABLE}"
        elif status == 404:
            hint = "check --base-url and --model"
        elif status in (408, 409, 429) or (status or 0) >= 500:
            hint = "try again later or raise --max-retries"
        else:
            hint = "check --model and the options passed on to it"
        return f"{self.base_url} answers with status {status}: {said}; {hint}."

    def _harmless(self, text: Optional[str]) -> Optional[str]:
        """Takes out of what a server sent what no file shall hold: the key, which it may well
        repeat, and halves of surrogate pairs, which no UTF-8 can."""
        if text is None:
            return None
        text = text.encode("utf-8", "replace").decode()
        return text if len(self._key) < _SECRET_LENGTH else text.replace(self._key, "***")

    def _clean(self, text: str) -> str:
        """What a server sent as part of a sentence."""
        return " ".join(self._harmless(text).split())[:_LONGEST_MESSAGE].rstrip(".")
