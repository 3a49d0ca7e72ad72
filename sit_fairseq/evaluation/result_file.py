"""Result files: numbers with everything needed to get them again."""

import hashlib
import json
import platform
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Sequence

import fairseq
import torch

import sit_fairseq
from sit_fairseq.errors import UserError
from sit_fairseq.evaluation.proportion import Proportion
from sit_fairseq.judging.spot_judge import spot_installed, spot_version
from sit_fairseq.storage.files import replacing


def sha256_of(data: bytes) -> str:
    """The SHA-256 of some bytes, in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def sha256_of_file(path: str) -> str:
    """The SHA-256 of a file's content, in hexadecimal digits.

    Raises:
        UserError: the file cannot be read.
    """
    digest = hashlib.sha256()
    try:
        with open(path, "rb") as file:
            for block in iter(lambda: file.read(1 << 20), b""):
                digest.update(block)
    except OSError as error:
        raise UserError(f"Cannot read {path}: {error.strerror}; name an existing file.")
    return digest.hexdigest()


def file_beside(path: str, ending: str) -> str:
    """The name of another file that belongs to a result file."""
    return (path[: -len(".json")] if path.endswith(".json") else path) + ending


def versions() -> Dict[str, Optional[str]]:
    """The versions of what numbers may depend on; None for Spot if there is none."""
    return {
        "sit_fairseq": sit_fairseq.__version__,
        "fairseq": fairseq.__version__,
        "torch": torch.__version__,
        "spot": spot_version() if spot_installed() else None,
        "python": platform.python_version(),
    }


@dataclass
class Result:
    """What a metric found, and what it found it with.

    Attributes:
        metric: name of the metric.
        command: the command line.
        seed: the seed of everything drawn at random.
        files: the files read, to their SHA-256; the checkpoint is one of them.
        options: how answers were found and judged.
        samples: number of sentences that were answered.
        seconds: time for answering and judging them, over all runs if there were several.
        result: the numbers, proportions among them.
    """

    metric: str
    command: List[str]
    seed: int
    files: Dict[str, str]
    options: Dict[str, Any]
    samples: int
    seconds: float
    result: Dict[str, Any]
    versions: Dict[str, Optional[str]] = field(default_factory=versions)

    def write(self, path: str, where: str = "--result") -> None:
        """Writes the file; one that was there is replaced.

        Args:
            path: its name.
            where: the option that names it, for messages.

        Raises:
            UserError: it cannot be written.
        """
        try:
            text = json.dumps(vars(self), indent=1, ensure_ascii=False, default=Proportion.as_json)
            with replacing(path) as (file,):
                # A path may have bytes that are no UTF-8; they become JSON escapes.
                file.write(text.encode("utf-8", "backslashreplace").decode() + "\n")
        except OSError as error:
            raise UserError(f"Cannot write {path}: {error.strerror}; change {where}.")


def markdown_table(rows: Sequence[Sequence[Any]]) -> str:
    """A table in Markdown.

    Args:
        rows: the cells, the head first.

    Returns:
        One line for each row and one below the head, with columns as wide as their widest cell.
    """
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(3, *map(len, column)) for column in zip(*cells)]
    cells.insert(1, ["-" * width for width in widths])
    padded = ([cell.ljust(width) for cell, width in zip(row, widths)] for row in cells)
    return "\n".join(f"| {' | '.join(row)} |" for row in padded)
