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
