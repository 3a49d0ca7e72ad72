"""The exceptions for mistakes a user can put right."""

_SHOWN = 80  # characters of a sentence in a message


class UserError(SystemExit):
    """A mistake in the data, the options or a file named by the user.

    Deriving from ``SystemExit`` makes every fairseq command end with this one sentence on stderr
    and exit status 1 instead of a traceback, also where fairseq wraps each ``Exception`` into a
    misleading one. Library callers can catch it by name.

    Args:
        message: the cause, in words that need no command line.
        options: the parameters to change, as Python names them, separated by spaces. The message
            ends with them as they are called on the command line.
    """

    def __init__(self, message: str, options: str = "") -> None:
        flags = " or ".join("--" + name.replace("_", "-") for name in options.split())
        super().__init__(f"{message}; change {flags}" if flags else message)

    def __str__(self) -> str:
        return str(self.code)


class UnansweredError(UserError):
    """A sentence that a model cannot answer.

    Args:
        reason: why, in words that need no sentence beside them.
        sentence: as it was given; the message ends with its beginning.

    Attributes:
        reason: see above.
    """

    def __init__(self, reason: str, sentence: str) -> None:
        self.reason = reason
        shown = sentence if len(sentence) <= _SHOWN else sentence[: _SHOWN - 3] + "..."
        super().__init__(f"{reason}: {shown!r}")


class MalformedFormula(ValueError):
    """A text that is no formula; the message says why."""


class MalformedAnswer(ValueError):
    """A text that is no answer to a formula; the message says why."""
