"""The command of the package: which verbs it has, and what it loads for one."""

import ast
import re
import runpy
from pathlib import Path
from unittest import mock

import pytest
from command_line import ROOT, sit

from sit_fairseq import commands
from sit_fairseq.errors import UserError

FOLDER = Path(commands.__file__).parent


@pytest.fixture
def imported():
    """The names of the modules that the command imports."""
    importer = mock.Mock(wraps=commands.importlib.import_module)
    with mock.patch.object(commands.importlib, "import_module", importer):
        yield lambda: [call.args[0] for call in importer.call_args_list]


def test_help_has_a_line_for_each_verb_and_imports_none(capsys, imported):
    with pytest.raises(SystemExit) as exit_:
        sit("--help")
    assert exit_.value.code == 0
    lines = capsys.readouterr().out.splitlines()
    files = [
        path
        for path in FOLDER.rglob("*.py")
        if path.name != "__init__.py" and not path.name.startswith("_")
    ]
    for path in files:
        *before, verb = path.relative_to(FOLDER).with_suffix("").parts
        spoken = " ".join([*before, verb.rstrip("_").replace("_", "-")])
        (line,) = [line for line in lines if line.startswith(f"  {spoken}  ")]
        text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
        assert not re.search(r"\S {2,}--", text), f"{path}: lines are joined, begin it with r"
        first = text.splitlines()[0]
        assert line.endswith(f"  {first}") and first.endswith("."), f"{path} begins with more"
    assert imported() == []


def test_without_a_verb_there_is_help(capsys):
    with pytest.raises(SystemExit) as exit_:
        sit()
    assert exit_.value.code == 0
    assert "rename" in capsys.readouterr().out


def test_a_verb_is_imported_alone(tmp_path, imported):
    with pytest.raises(UserError, match="missing"):
        sit("rename", tmp_path / "missing", tmp_path / "out", "--symbols", "a", "--names", "a")
    assert imported() == ["sit_fairseq.commands.rename"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words", [["no-verb"], ["--no-option"], ["rename"]])
def test_what_cannot_be_understood_is_refused(words, capsys):
    with pytest.raises(SystemExit) as exit_:
        sit(*words)
    assert exit_.value.code == 2
    assert capsys.readouterr().err.startswith("usage: sit ")


def test_the_former_script_of_conversion_is_the_verb():
    with mock.patch.object(commands, "main") as main, mock.patch("sys.argv", ["x.py", "IN", "OUT"]):
        runpy.run_path(str(ROOT / "scripts" / "convert_checkpoint.py"))
    main.assert_called_once_with(["convert", "IN", "OUT"])
