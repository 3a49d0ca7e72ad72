"""The documents: their links lead somewhere, their commands can be read, their figures are used."""

import argparse
import re
import shlex
import subprocess
from pathlib import Path

import pytest
import yaml
from command_line import ROOT
from fairseq import options

import sit_fairseq
from sit_fairseq import commands
from sit_fairseq.domains import names
from sit_fairseq.models import fairseq_language_model  # noqa: F401  registers it

TRACKED = subprocess.run(
    ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
    cwd=ROOT,
    capture_output=True,
    text=True,
    check=True,
).stdout.split("\n")
DOCUMENTS = [name for name in TRACKED if name.endswith(".md") and (ROOT / name).is_file()]
PARSERS = {
    "fairseq-preprocess": options.get_preprocessing_parser,
    "fairseq-train": options.get_training_parser,
    "fairseq-generate": options.get_generation_parser,
    "fairseq-interactive": lambda task: options.get_interactive_generation_parser(task),
    "fairseq-eval-lm": options.get_eval_lm_parser,
}

TASKS = {"stream_translation", "symbol_language_modeling"}


def anchors(path: Path):
    """The places of a document that a link may name."""
    headings = re.findall(r"^#+ (.*)", path.read_text(), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links_lead_somewhere(name):
    text = re.sub(r"```.*?```", "", (ROOT / name).read_text(), flags=re.S)
    for link in re.findall(r"\]\(([^)\s]+)\)|src=\"([^\"]+)\"", text):
        target, _, anchor = "".join(link).partition("#")
        if target.startswith("http"):
            continue
        path = ((ROOT / name).parent / target).resolve() if target else ROOT / name
        assert path.exists(), (name, target)
        assert not anchor or anchor in anchors(path), (name, target, anchor)


def calls(text: str):
    """The calls of fairseq and of ``sit`` in the blocks of a document, as lists of words."""
    for block in re.findall(r"```bash\n(.*?)```", text, re.S):
        for line in block.replace("\\\n", " ").split("\n"):
            lexer = shlex.shlex(line, posix=True, punctuation_chars="|;&")
            lexer.whitespace_split, lexer.commenters = True, "#"
            words = list(lexer) + [";"]
            while words:
                end = next(i for i, word in enumerate(words) if set(word) <= set("|;&"))
                call, words = words[:end], words[end + 1 :]
                while call and call[0] in ("do", "then"):
                    call.pop(0)
                if call and (call[0] in PARSERS or call[0] == "sit"):
                    yield [word for word in call if "…" not in word and "..." not in word[-4:]]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_commands_can_be_read(name, monkeypatch):
    """Required options may be left out, as documents show parts of commands."""

    def error(self, message):
        if "required" not in message and "expected" not in message:
            pytest.fail(f"{name}: {shown}: {message}")
        raise SystemExit

    monkeypatch.setattr(argparse.ArgumentParser, "error", error)
    monkeypatch.chdir((ROOT / name).parent if "_template" in name else ROOT)
    for shown in calls((ROOT / name).read_text()):
        command, *words = shown
        try:
            if command == "sit":
                parser, called = commands._parsers(words)
                answers = words[:1] == ["answer"]
                (called.parse_intermixed_args(words[1:]) if answers else parser.parse_args(words))
            else:
                task = next(filter(TASKS.__contains__, words), "translation")
                parser = PARSERS[command](task)
                if command == "fairseq-train":
                    words = ["--arch", "transformer", *words]  # unless another one is given
                options.parse_args_and_arch(parser, input_args=words)
        except SystemExit:
            pass


@pytest.mark.parametrize("name", DOCUMENTS)
def test_verbs_and_their_options_exist(name):
    for code in re.findall(r"`(sit [^`]+)`", (ROOT / name).read_text()):
        if name == "CHANGELOG.md":
            continue  # it names what has left
        words = code.split()[1:]
        if words[0].startswith("-") or words[0] == "VERB":
            continue
        verb = max(
            (v for v in commands.VERBS if f"{' '.join(words)} ".startswith(f"{v} ")), key=len
        )
        _, called = commands._parsers(words)
        for option in re.findall(r"(?<!\S)--[a-z-]+", code):
            assert option in called._option_string_actions, (name, code, option)


def test_figures_are_used():
    texts = "".join((ROOT / name).read_text() for name in DOCUMENTS)
    figures = [name for name in TRACKED if name.endswith((".png", ".svg", ".csv"))]
    for name in figures:
        if (ROOT / name).is_file() and not name.startswith("tests/"):
            assert Path(name).name in texts, name


def test_the_citation_is_of_this_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["cff-version"] == "1.2.0"
    assert citation["version"] == sit_fairseq.__version__


def test_the_reference_names_every_domain():
    text = (ROOT / "examples/REFERENCE.md").read_text()
    (row,) = re.findall(r"`--domain ([^`]+)`", text)
    assert {*row.replace("\\|", "|").split("|")} == {*names(), "MODULE:OBJECT"}


def test_the_front_page_says_that_plans_are_searched_for():
    text = " ".join((ROOT / "README.md").read_text().split())
    (sentence,) = re.findall(r"[^.]*\[shipped model\].*?53\.6 %[^.]*\.", text)
    assert "solves by search" in sentence and "zero shot" in sentence
