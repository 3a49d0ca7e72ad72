"""The exceptions for mistakes a user can put right."""

import re
from typing import Any, Container, Dict, Tuple

_LONGEST = 2000  # characters of a message


def excerpt(text: str, longest: int = 80) -> str:
    """The beginning of a text, as Python writes it, for messages."""
    return repr(text if len(text) <= longest else text[: longest - 3] + "...")


def shortened(message: str) -> str:
    """A message without its middle, if a text that it quotes makes it long."""
    half = _LONGEST // 2
    return message if len(message) <= _LONGEST else f"{message[:half]} ... {message[-half:]}"


def advised(message: str, known: Container[str] = ()) -> str:
    """A message without its advice to change options, unless a command has one of them."""
    text, _, options = message.partition("; change --")
    left = [option for option in f"--{options}".split(" or ") if option in known]
    if not re.fullmatch(r"[a-z-]+( or --[a-z-]+)*", options):
        return message
    return f"{text}; change {' or '.join(left)}" if left else text


class UserError(Exception):
    """A mistake in the data, the options or a file named by the user.

    ``sit`` and fairseq's commands end with this one sentence on stderr and exit status 1.

    Args:
        message: the cause, in words that need no command line.
        options: the parameters to change, as Python names them, separated by spaces. The message
            ends with them as they are called on the command line.
    """

    def __init__(self, message: str, options: str = "") -> None:
        flags = " or ".join("--" + name.replace("_", "-") for name in options.split())
        message = shortened(message)
        super().__init__(f"{message}; change {flags}" if flags else message)


class UnansweredError(UserError):
    """A sentence that a model cannot answer.

    Args:
        reason: why, in words that need no sentence beside them.
        sentence: as it was given; the message ends with its beginning.

    Attributes:
        reason: see above.
    """

    def __init__(self, reason: str, sentence: str) -> None:
        self.reason, self._sentence = shortened(reason), sentence
        super().__init__(f"{reason}: {excerpt(sentence)}")

    def __reduce__(self) -> Tuple[Any, ...]:
        return type(self), (self.reason, self._sentence)


# The extras of setup.py, and the packages that each brings; domains add theirs.
EXTRAS: Dict[str, Tuple[str, ...]] = {
    "fairseq": ("fairseq", "fairseq_cli", "hydra", "omegaconf"),
    "hub": ("safetensors", "yaml"),
    "onnx": ("onnx", "onnxruntime", "onnxscript"),
    "plots": ("matplotlib",),
    "text": ("google", "sentencepiece"),
}


def missing(error: ModuleNotFoundError) -> Exception:
    """The error to raise where an import fails.

    Returns:
        A UserError that says how to install the package, or ``error`` if no extra brings it.
    """
    package = (error.name or "").split(".")[0]
    for extra, packages in EXTRAS.items():
        if package in packages:
            # fairseq's set-up imports torch, and builds nothing where it makes documentation.
            how = (
                "READTHEDOCS=1 pip install --no-build-isolation"
                if extra == "fairseq"
                else "pip install"
            )
            name = "fairseq" if extra == "fairseq" else package
            # Not by the name of the project, which is on no index.
            return UserError(f"this needs {name}: {how} '.[{extra}]' in the clone")
    return error


class _Malformed(ValueError):
    def __init__(self, message: str) -> None:
        super().__init__(shortened(message))


class MalformedFormula(_Malformed):
    """A text that is no formula; the message says why."""


class MalformedAnswer(_Malformed):
    """A text that is no answer to a formula; the message says why."""
