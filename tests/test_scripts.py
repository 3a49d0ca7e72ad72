"""Every script says what it does, and takes no word for another."""

import runpy
import sys

import pytest
from command_line import ROOT

SCRIPTS = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for folder in ("examples", "scripts")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if '__name__ == "__main__"' in path.read_text() or path.name == "convert_checkpoint.py"
]


@pytest.fixture
def call(tmp_path, monkeypatch, capsys):
    """Runs a script in an empty folder, which it may not change; returns its status and output."""

    def run(script, *words):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", [script, *words])
        with pytest.raises(SystemExit) as end:
            runpy.run_module(script, run_name="__main__", alter_sys=True)
        assert not list(tmp_path.iterdir())
        return end.value.code, capsys.readouterr().out

    return run


@pytest.mark.parametrize("script", SCRIPTS)
def test_help_says_what_a_script_does(call, script):
    status, out = call(script, "--help")
    assert status == 0 and out.startswith("usage: ")
    assert len(out.split("\n\n")[1]) > 20, "nothing but options"


@pytest.mark.parametrize("words", [(), ("a", "b", "c"), ("--out", "b")])
def test_another_number_of_words_is_one_sentence(call, words):
    status, _ = call("examples.scan.pairs", *words)
    assert "\n" not in status and "python -m examples.scan.pairs --help" in status


def test_a_missing_file_is_one_sentence(call):
    status, _ = call("examples.pytorch.train", "missing")
    assert status.startswith("Cannot read missing.src")
