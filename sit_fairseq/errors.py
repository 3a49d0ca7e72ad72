"""The exceptions for mistakes a user can put right."""

from typing import Any, Tuple

_LONGEST = 2000  # characters of a message


def excerpt(text: str, longest: int = 80) -> str:
    """The beginning of a text, as Python writes it, for messages."""
    return repr(text if len(text) <= longest else text[: longest - 3] + "...")


def shortened(message: str) -> str:
    """A message without its middle, if a text that it quotes makes it long."""
    half = _LONGEST // 2
    return message if len(message) <= _LONGEST else f"{message[:half]} ... {message[-half:]}"


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


# The extras of setup.py, and the packages that each brings.
EXTRAS = {
    "fairseq": ("fairseq", "fairseq_cli", "hydra", "omegaconf"),
    "hub": ("safetensors", "yaml"),
    "ltl": ("spot",),
    "onnx": ("onnx", "onnxruntime", "onnxscript"),
    "plots": ("matplotlib",),
    "prop": ("aiger", "aiger_sat", "pysat"),
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
            return UserError(f"this needs {name}: {how} 'sit_fairseq[{extra}]'")
    return error
