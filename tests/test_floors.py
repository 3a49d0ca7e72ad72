"""No room of the package imports from a higher floor, nor from another room of its own."""

import ast
import re
from pathlib import Path

from conftest import PACKAGE

# Files that belong to another room than their folder's: fairseq looks for the model's registration
# among the models, and Python for the command among the modules.
ELSEWHERE = {
    "models.fairseq_adapter": "tasks",
    "models.fairseq_language_model": "tasks",
    "__main__": "commands",
}

# From the bottom to the top: a room may use those of the floors below it.
FLOORS = [
    {"errors"},
    {"symbols", "storage"},
    {"models"},
    {"judging"},
    {"search", "datasets"},
    {"domains"},
    {"training"},
    {"model", "rows"},
    {"tasks"},
    {"conversion", "evaluation", "testing"},
    {"export"},
    {"commands"},
]
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}


def room_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ELSEWHERE.get(".".join(parts), parts[0])


def imported_rooms(path: Path):
    """The rooms that a file imports, anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            package, *rest = name.split(".")
            if package == "sit_fairseq" and rest and rest[0] in FLOOR:
                yield ELSEWHERE.get(".".join(rest[:2]), rest[0])


FILES = [path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py"]


def test_every_room_has_a_floor():
    assert {room_of(path) for path in FILES} == set(FLOOR)


def test_imports_point_downwards():
    upwards = {
        f"{path.relative_to(PACKAGE)} imports {room}"
        for path in FILES
        for room in imported_rooms(path)
        if room != room_of(path) and FLOOR[room] >= FLOOR[room_of(path)]
    }
    assert upwards == set()


def imported_files(path: Path):
    """The files of the package that a file imports."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module.startswith("sit_fairseq."):
            for name in (node.module, *(f"{node.module}.{alias.name}" for alias in node.names)):
                found = (PACKAGE.parent / name.replace(".", "/")).with_suffix(".py")
                if found.exists():
                    yield found


def test_no_two_files_import_each_other():
    arrows = {(path, found) for path in FILES for found in imported_files(path)}
    assert not [(one, other) for one, other in arrows if (other, one) in arrows]


def test_each_file_of_the_model_imports_earlier_ones():
    """In the order of CONTRIBUTING."""
    text = (PACKAGE.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    listed = text[text.index("first read these files") : text.index("`models/own_places.py`")]
    files = [PACKAGE / name for name in re.findall(r"`((?:symbols|models)/\w+\.py)`", listed)]
    assert len(files) > 10
    for number, path in enumerate(files):
        later = set(imported_files(path)).intersection(files[number:])
        assert not later, f"{path.name} imports {later}"
