"""The code of a model, as files of one flat folder."""

import re
from pathlib import Path
from typing import Dict, Optional

import sit_fairseq
from sit_fairseq.export.grammars import GRAMMARS

MODEL, TOKENIZER = (f"export.for_transformers.{name}" for name in ("modeling", "tokenizer"))
_GRAMMARS = "export.grammars"

_IMPORT = re.compile(r"^from sit_fairseq\.([\w.]+) import", flags=re.MULTILINE)

# Errors of the folder are ValueErrors, as those of transformers, and name no option of a command.
_ERRORS = {
    "class UserError(Exception)": "class UserError(ValueError)",
    'super().__init__(f"{message}; change {names}" if names else message)': "super().__init__(message)",
}


def source_files(grammar: Optional[str]) -> Dict[str, str]:
    """The text of the modules that a model needs, by the names of their files.

    transformers 4 copies a file that ``auto_map`` names, and those that it imports itself. So each
    such file ends with imports of all that it needs.

    Args:
        grammar: the domain whose grammar is among them; None for none.
    """
    files: Dict[str, str] = {}
    for first in (TOKENIZER, MODEL):
        needed = _needed(grammar, first)
        others = sorted(needed.keys() - {_flat(first)})
        needed[_flat(first)] += "\n" + "".join(
            f"from .{name[:-3]} import __name__ as _  # transformers 4 copies the file\n"
            for name in others
        )
        files = {**needed, **files}
    for ours, theirs in _ERRORS.items():
        files["errors.py"] = files["errors.py"].replace(ours, theirs)
    return files


def _needed(grammar: Optional[str], first: str) -> Dict[str, str]:
    """The text of a module and of all that it imports, by the names of their files."""
    package = Path(sit_fairseq.__file__).parent
    files: Dict[str, str] = {}
    waiting = [first]
    while waiting:
        module = waiting.pop()
        name = _flat(module)
        if name in files:
            continue
        path = package.joinpath(*module.split(".")).with_suffix(".py")
        text = _grammars(grammar) if module == _GRAMMARS else path.read_text(encoding="utf-8")
        waiting += _IMPORT.findall(text)
        files[name] = _IMPORT.sub(lambda match: f"from .{_flat(match[1])[:-3]} import", text)
    return files


def _grammars(domain: Optional[str]) -> str:
    """The module of grammars that a folder has in place of that of the package."""
    if domain is None:
        return "GRAMMARS = {}\n"
    made = GRAMMARS[domain]
    name = made.__name__
    return f"from {made.__module__} import {name}\n\nGRAMMARS = {{{domain!r}: {name}}}\n"


def _flat(module: str) -> str:
    """The file of a module; those that transformers asks for have short names."""
    name = module.split(".")[-1] if module in (MODEL, TOKENIZER) else module.replace(".", "_")
    return f"{name}.py"
