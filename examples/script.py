"""Runs a function as a script: its parameters are the words of the command line."""

import argparse
import inspect
import sys
from typing import Any, Callable

from sit_fairseq.errors import UserError


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> None:
        sys.exit(f"{message}; {self.prog} --help says more")


def run(main: Callable[..., Any]) -> None:
    """Calls a function of the script that runs with what the command line says.

    Each parameter is a word of the type of its annotation, ``*names`` any number of them. ``--help``
    prints the docstring of the script. Wrong words and a UserError end it with one sentence.
    """
    script = sys.modules["__main__"]
    spec = getattr(script, "__spec__", None)
    parser = _Parser(
        prog=f"python -m {spec.name}" if spec else None,
        description=script.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    words = inspect.signature(main).parameters.values()
    for word in words:
        many = {"nargs": "*"} if word.kind is word.VAR_POSITIONAL else {}
        parser.add_argument(word.name, metavar=word.name.upper(), type=word.annotation, **many)
    given = vars(parser.parse_args())
    values = [given[word.name] for word in words]
    if any(word.kind is word.VAR_POSITIONAL for word in words):
        values += values.pop()
    try:
        main(*values)
    except UserError as error:
        sys.exit(str(error))
