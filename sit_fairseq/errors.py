"""The exceptions for mistakes a user can put right."""

import re
from numbers import Integral, Real
from operator import index
from typing import Any, Container, Dict, Iterable, List, Optional, Tuple

_LONGEST = 2000  # characters of a message


def excerpt(text: str) -> str:
    """A text, or its beginning, in at most 80 characters, as Python writes it, for messages."""
    return repr(text if len(text) <= 80 else f"{text[:77]}...")


def shortened(message: str) -> str:
    """A message without its middle, if a text that it quotes makes it long."""
    half = _LONGEST // 2
    return message if len(message) <= _LONGEST else f"{message[:half]} ... {message[-half:]}"


def advised(message: str, known: Optional[Container[str]] = None) -> str:
    """The message of a UserError for a command line: it advises to change options, where Python has
    parameters. Options that are not ``known`` are left out; None for any."""
    match = re.fullmatch(r"(.*); change (\w+(?: or \w+)*)", message, re.DOTALL)
    if match is None:
        return message
    flags = ["--" + name.replace("_", "-") for name in match[2].split(" or ")]
    left = [flag for flag in flags if known is None or flag in known]
    return f"{match[1]}; change {' or '.join(left)}" if left else match[1]


class UserError(Exception):
    """A mistake in the data, the options or a file named by the user.

    ``sit`` and fairseq's commands end with this one sentence on stderr and exit status 1.

    Args:
        message: the cause, in words that need no command line.
        parameters: those to change, as Python names them, separated by spaces. The message ends with
            them; commands name their options instead, see :func:`advised`.
    """

    def __init__(self, message: str, parameters: str = "") -> None:
        names, message = " or ".join(parameters.split()), shortened(message)
        super().__init__(f"{message}; change {names}" if names else message)


def whole(value: Any) -> int:
    """A whole number of any library as Python's; a TypeError for what is none, such as True."""
    if isinstance(value, bool):
        raise TypeError(f"{value} is no number")
    return index(value)


def real(value: Any) -> float:
    """A number of any library as Python's float or int; a TypeError for what is none."""
    if not isinstance(value, Real) or isinstance(value, bool) or value != value:
        raise TypeError(f"{value!r} is no number")
    return int(value) if isinstance(value, Integral) else float(value)


def check_numbers(least: int, **numbers: Any) -> None:
    """Raises a UserError for what is no whole number from ``least``; None is any."""
    for name, number in numbers.items():
        try:
            fits = number is None or whole(number) >= least
        except TypeError:
            fits = False
        if not fits:
            raise UserError(f"{name} is a whole number from {least}, not {number!r}", name)


def texts_of(given: Iterable[str], name: str) -> List[str]:
    """Texts as a list; a TypeError for one text."""
    if isinstance(given, str):
        raise TypeError(f"{name} are a list of texts, not one text: {excerpt(given)}")
    return list(given)


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
