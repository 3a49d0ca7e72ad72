"""Result files: numbers with everything needed to get them again."""

import hashlib
import json
from pathlib import Path
from typing import Any, Dict, Iterable, Sequence

from sit_fairseq.errors import UserError
from sit_fairseq.evaluation.proportion import Proportion
from sit_fairseq.storage.files import replacing


def sha256_of(lines: Iterable[str]) -> str:
    """The SHA-256 of lines of text, in hexadecimal digits."""
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def file_beside(path: str, ending: str) -> str:
    """The name of another file that belongs to a result file."""
    return path.removesuffix(".json") + ending


def write_result(path: str, content: Dict[str, Any]) -> None:
    """Writes or replaces a result file, with proportions or not; a UserError if it cannot be."""
    text = json.dumps(content, indent=1, ensure_ascii=False, default=Proportion.as_json)
    with replacing(path) as (file,):
        # A path may have bytes that are no UTF-8; they become JSON escapes.
        file.write(text.encode("utf-8", "backslashreplace").decode() + "\n")


def read_result(path: str) -> Dict[str, Any]:
    """The content of a result file; a UserError if it cannot be read, or lacks the result, the files
    that it was made of, the versions, or the number of undecided verdicts."""
    kinds = {"result": dict, "files": dict, "versions": dict, "undecided": int}
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
        fault = next((n for n, kind in kinds.items() if type(content.get(n)) is not kind), None)
        if fault is not None or not content["files"]:
            raise ValueError(f"it has no {fault or 'files'}")
        texts = [*content["files"], *content["files"].values(), *content["versions"]]
        if not all(isinstance(text, str) and text for text in texts):
            raise ValueError("it has a name that is no text")
    except (AttributeError, OSError, RecursionError, ValueError) as error:
        raise UserError(f"{path} is no result file ({error}); remove it, and measure again")
    return content


def markdown_table(rows: Sequence[Sequence[Any]]) -> str:
    """A table in Markdown of rows, the head first; columns are as wide as their widest cell."""
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(3, *map(len, column)) for column in zip(*cells)]
    cells.insert(1, ["-" * width for width in widths])
    padded = ([cell.ljust(width) for cell, width in zip(row, widths)] for row in cells)
    return "\n".join(f"| {' | '.join(row)} |" for row in padded)
