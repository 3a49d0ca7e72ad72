"""Files of public data sets, as they were published or compressed by xz."""

import lzma
import sys
from pathlib import Path


def read_public(folder: Path, name: str) -> str:
    """The text of a file, wherever it lies in the folder; the command ends if it is not there."""
    for path in sorted(folder.rglob(f"{name}*")):
        if path.name == name:
            return path.read_text(encoding="utf-8")
        if path.name == f"{name}.xz":
            return lzma.decompress(path.read_bytes()).decode()
    sys.exit(f"{folder} has no file {name}, nor {name}.xz; see the README of the example")
