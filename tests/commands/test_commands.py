"""The command of the package: which verbs it has, and what it loads for one."""

import io
import logging
import os
import re
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest
from command_line import ROOT, sit
from conftest import PACKAGE, needs_spot

from sit_fairseq import commands
from sit_fairseq.domains import find, names
from sit_fairseq.errors import UserError

FOLDER = Path(commands.__file__).parent


@pytest.fixture
def imported():
    """The names of the modules that the command imports."""
    importer = mock.Mock(wraps=commands.importlib.import_module)
    with mock.patch.object(commands.importlib, "import_module", importer):
        yield lambda: [call.args[0] for call in importer.call_args_list]


@pytest.fixture
def light(tmp_path):
    """A function that runs the command where torch and fairseq are not installed."""
    for name in ("torch", "fairseq"):
        (tmp_path / f"{name}.py").write_text("raise ImportError('not installed')\n")

    def run(*words, **variables):
        environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT}", **variables}
        return subprocess.run(
            [sys.executable, "-m", "sit_fairseq", *map(str, words)],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )

    return run


def told(capsys, *words):
    """What the command prints before it ends well."""
    with pytest.raises(SystemExit) as exit_:
        sit(*words)
    assert exit_.value.code == 0
    return capsys.readouterr().out


def test_help_has_each_verb_and_imports_none(capsys, imported):
    modules = {path.stem for path in FOLDER.glob("*.py") if not path.stem.startswith("_")}
    assert set(commands.VERBS) == modules
    help_ = told(capsys, "--help")
    for verb in commands.VERBS:
        assert re.search(rf"^    {verb}\s", help_, re.MULTILINE), verb
    assert told(capsys) == help_ and imported() == []


def test_a_verb_is_imported_alone(tmp_path, imported):
    with pytest.raises(UserError, match="missing"):
        sit("rename", tmp_path / "missing", tmp_path / "out", "--symbols", "a", "--names", "a")
    assert imported() == ["sit_fairseq.commands.rename"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words", [["no-verb"], ["--no-option"], ["rename"], ["generate"]])
def test_what_cannot_be_understood_is_refused(words, capsys):
    with pytest.raises(SystemExit) as exit_:
        sit(*words)
    assert exit_.value.code == 2
    assert capsys.readouterr().err.startswith("usage: sit ")


@pytest.mark.parametrize(
    "words, sentence",
    [
        (("grid", "--from", "X", "--symbols", "[a-z]", "OUT"), "name OUT_DIR before --symbols"),
        (("rename", "--symbols", "[a-z]", "IN", "OUT"), "before --symbols"),
        (("generate", "--size", "5", "prop", "OUT"), "name the domain first"),
        (("generate", "nonsense", "OUT"), "no domain 'nonsense'(?!.*change)"),
    ],
)
def test_words_in_another_order_are_one_sentence(words, sentence):
    with pytest.raises(UserError, match=sentence):
        sit(*words)


def test_an_option_that_is_missing_is_not_blamed_on_another(capsys):
    with pytest.raises(SystemExit):
        sit("rename", "in", "out", "--symbols", "[a-z]")
    assert "the following arguments are required: --names" in capsys.readouterr().err


def test_an_output_that_lacks_a_character_is_refused(monkeypatch, tmp_path):
    (tmp_path / "in").write_text("é\n")
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(io.BytesIO(), "ascii"))
    with pytest.raises(UserError, match="ascii lacks '.xe9'; set PYTHONIOENCODING"):
        sit("protect", tmp_path / "in", "--through", "cat")


@pytest.mark.parametrize(
    "words",
    [
        ("answer", "prop", "a", "--seconds", "inf"),
        ("judge", "prop", "F", "A", "--timeout", "1e300"),
        ("judge", "prop", "F", "A", "--memory", "inf"),
        ("generate", "ltl", "OUT", "--timeout", "inf"),
    ],
)
def test_more_than_clocks_can_count_is_refused(words, capsys):
    with pytest.raises(SystemExit):
        sit(*words)
    assert f"argument {words[-2]}: {words[-1]} is more than" in capsys.readouterr().err


def test_help_of_light_verbs_needs_no_torch_and_is_quiet(light):
    drawn = [name for name in names() if find(name).recipe is not None]
    data = [*(["generate", name] for name in drawn), ["grid"]]
    for words in ([], ["judge"], *data, ["rename"], ["overlap"], ["protect"]):
        result = light(*words, "--help")
        assert result.stdout.startswith("usage: sit") and result.stderr == ""
    assert light("--user-dir", COLUMNS="20").stdout == f"{PACKAGE}\n"


@pytest.mark.parametrize("variables, level", [({}, "WARNING"), ({"LOGLEVEL": "info"}, "INFO")])
def test_libraries_keep_their_notes_to_themselves(capsys, monkeypatch, variables, level):
    monkeypatch.delenv("LOGLEVEL", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with mock.patch.object(logging, "basicConfig") as configured:
        told(capsys, "--help")
    assert configured.call_args.kwargs["level"] == level


@needs_spot
def test_light_verbs_need_neither_torch_nor_fairseq(light, tmp_path):
    light("generate", "prop", tmp_path / "prop", "--size", 20)
    grid = ("--from", tmp_path / "prop", "--symbols", "[a-e]")
    light("grid", tmp_path / "grid", *grid)
    others = ("--symbols", "[a-z]", "--names", "v,w,x,y,z")
    light("rename", tmp_path / "prop", tmp_path / "edited", *others)
    said = light(
        "overlap", tmp_path / "edited", "--with", tmp_path / "prop", tmp_path / "grid/grid"
    )
    assert said.stdout.count("| 20 |") == 7  # each is a renaming of the others
    light("generate", "ltl", tmp_path / "ltl", "--size", 20, "--max-length", 9)
    for semantics in ("prop", "ltl"):
        files = (tmp_path / f"{semantics}.{side}" for side in ("src", "tgt"))
        assert "20/20 correct" in light("judge", semantics, *files).stdout


@pytest.mark.parametrize(
    "line, words",
    [("sit ju", ["judge"]), ("sit generate pr", ["prop"]), ("sit judge --sy", ["--symbols"])],
)
def test_the_shell_completes_verbs_and_options(light, tmp_path, line, words):
    found = tmp_path / "found"
    light(
        _ARGCOMPLETE="1",
        COMP_LINE=line,
        COMP_POINT=str(len(line)),
        _ARGCOMPLETE_STDOUT_FILENAME=str(found),
    )
    assert [word.strip() for word in re.split("[\v\f]", found.read_text())] == words
