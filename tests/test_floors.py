"""No room of the package imports from a higher floor, nor from another room of its own."""

import ast
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
    {"model"},
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


def test_imports_are_found_wherever_they_stand(tmp_path):
    path = tmp_path / "room.py"
    path.write_text(
        "import sit_fairseq.domains.formulas.syntax\nfrom sit_fairseq import models\n"
        "def function():\n    from sit_fairseq.tasks.stream_translation import Task\n"
    )
    assert set(imported_rooms(path)) == {"domains", "models", "tasks"}
