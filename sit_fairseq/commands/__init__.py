"""The command ``sit VERB``, also ``python -m sit_fairseq VERB``: one module for each verb.

A module is imported when its verb is called, not before. It has

* a docstring, whose first line is listed by ``sit --help``;
* ``add_arguments(parser)``, which adds its options to an :class:`argparse.ArgumentParser`;
* ``main(args)``, which does the work. A :class:`~sit_fairseq.errors.UserError` that it raises ends
  the process with one sentence on stderr and exit status 1.

A package among them holds verbs of a verb, as in ``sit generate prop``. A module whose name begins
with an underscore is no verb; one at the end is not spoken, as in ``import_``.
"""

import argparse
import ast
import importlib
import pkgutil
import sys
from pathlib import Path
from typing import Dict, Optional, Sequence

_ABOUT = "Symbol-Invariant Transformer: data, judges, measurements and checkpoints."


def _verbs(folder: Path) -> Dict[str, Path]:
    """The verbs of a package, each with its module or package."""
    modules = [module for module in pkgutil.iter_modules([str(folder)]) if module.name[0] != "_"]
    return {
        module.name.rstrip("_").replace("_", "-"): folder
        / (module.name if module.ispkg else f"{module.name}.py")
        for module in modules
    }


def _purposes(folder: Path, before: str = "") -> Dict[str, str]:
    """What each verb is for; read from the files, as importing them takes seconds."""
    purposes = {}
    for verb, path in _verbs(folder).items():
        if path.is_dir():
            purposes.update(_purposes(path, f"{before}{verb} "))
        else:
            text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
            purposes[before + verb] = text.splitlines()[0]
    return purposes


def _listed(purposes: Dict[str, str]) -> str:
    """Verbs and what they are for, one a line."""
    width = max(map(len, purposes))
    return "\n".join(f"  {verb:<{width}}  {purpose}" for verb, purpose in purposes.items())


def main(argv: Optional[Sequence[str]] = None) -> None:
    """Finds the verb and calls it.

    Args:
        argv: the command line, without the program's name; None for the real one.

    Raises:
        UserError: an option or a file cannot be used.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    spoken, place, module = ["sit"], Path(__file__).parent, __name__
    while place.is_dir():
        verbs = _verbs(place)
        parser = argparse.ArgumentParser(
            prog=" ".join(spoken),
            usage="%(prog)s VERB ...",
            description=f"{_ABOUT}\n\n{_listed(_purposes(place))}",
            epilog="VERB --help says more.",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        parser.add_argument("verb", choices=list(verbs), help=argparse.SUPPRESS)
        verb = parser.parse_args(words[:1] or ["--help"]).verb
        words, place = words[1:], verbs[verb]
        spoken.append(verb)
        module += f".{place.stem}"
    command = importlib.import_module(module)
    parser = argparse.ArgumentParser(
        prog=" ".join(spoken),
        description=command.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_arguments(parser)
    args = parser.parse_args(words)
    command.main(args)
