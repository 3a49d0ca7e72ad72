"""The generator of LTL data, run as users run it."""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from command_line import ROOT, sit
from conftest import needs_spot

from sit_fairseq.datasets import ltl
from sit_fairseq.errors import UserError
from sit_fairseq.judging.labelling import Label
from sit_fairseq.judging.spot_judge import SpotJudge
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.logic.ltl import check_ltl, parse_trace
from sit_fairseq.logic.syntax import formula_symbols
from sit_fairseq.logic.tableau import depth_first_trace
from sit_fairseq.symbols.canonical_form import canonical_form

pytestmark = needs_spot

OPTIONS = ["--size", 600, "--max-length", 20]


def generate(prefix, *options):
    """Runs the verb in this process, which saves importing fairseq again."""
    sit("generate", "ltl", prefix, *options)


def run_command(prefix, *options):
    """Runs the verb as a command; the result has returncode, stdout and stderr."""
    return subprocess.run(
        [sys.executable, "-m", "sit_fairseq", "generate", "ltl", str(prefix), *map(str, options)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=240,
    )


def read(prefix):
    """The lines of PREFIX.src and PREFIX.tgt."""
    return [Path(f"{prefix}.{end}").read_text().splitlines() for end in ("src", "tgt")]


def forms(prefix):
    """The formulas of PREFIX.src up to renaming."""
    formulas = [line.split() for line in read(prefix)[0]]
    return {canonical_form(tokens, formula_symbols(tokens)) for tokens in formulas}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A data set of 600 samples and what the command said."""
    prefix = tmp_path_factory.mktemp("ltl") / "sub" / "train"
    result = run_command(prefix, *OPTIONS, "--workers", 2)
    assert result.returncode == 0, result.stderr
    return prefix, result


def test_samples_are_distinct_and_right(data):
    sources, targets = read(data[0])
    assert len(sources) == len(targets) == len(forms(data[0])) == 600
    judge = SpotJudge()
    for source, target in zip(sources, targets):
        check_ltl(source.split())
        assert parse_trace(target.split()).tokens == target.split()
        assert "0" not in target.split()
        assert judge.verify(source, target) is Verdict.satisfied
    assert set(" ".join(sources).split()) == set("abcde01!&XU")


def test_lengths_are_uniform_once_there_are_enough_formulas(data):
    lengths = Counter(len(source.split()) for source in read(data[0])[0])
    assert set(lengths) == set(range(1, 21))
    assert lengths[1] <= 2  # a, 1
    assert max(lengths.values()) - min(lengths[length] for length in range(6, 21)) <= 4, lengths


def test_summary_and_files(data):
    assert "600 samples" in data[1].stdout and "0 time-outs" in data[1].stdout
    names = sorted(path.name for path in data[0].parent.iterdir())
    assert names == ["train.src", "train.tgt", "train.timeouts"]


def test_number_of_workers_does_not_matter_and_the_seed_does(data, tmp_path):
    import spot

    # Nor does what this process has done with Spot: it saw symbols in another order.
    seen = [spot.formula.ap(f"p{index}") for index in reversed(range(5))]
    generate(tmp_path / "one", *OPTIONS, "--workers", 1)
    assert len(seen) == 5
    assert read(tmp_path / "one") == read(data[0])
    generate(tmp_path / "other", *OPTIONS, "--seed", 43)
    assert read(tmp_path / "other") != read(data[0])


def test_resume(data, tmp_path, monkeypatch):
    rounds = ltl.LtlGeneration.round

    def interrupted(self, pool):
        entry = rounds(self, pool)
        if self._rounds == 2:  # in the second round, before it is kept
            raise KeyboardInterrupt
        return entry

    monkeypatch.setattr(ltl, "LABELS_PER_ROUND", 300)
    generate(tmp_path / "whole", *OPTIONS)
    monkeypatch.setattr(ltl.LtlGeneration, "round", interrupted)
    with pytest.raises(KeyboardInterrupt):
        generate(tmp_path / "half", *OPTIONS)
    assert not (tmp_path / "half.src").exists()
    monkeypatch.setattr(ltl.LtlGeneration, "round", rounds)
    with pytest.raises(UserError, match=r"of another run \(seed 42, not 1\); omit --resume"):
        generate(tmp_path / "half", *OPTIONS, "--seed", 1, "--resume")
    with pytest.raises(UserError, match='labels "spot", not "depth-first"'):
        generate(tmp_path / "half", *OPTIONS, "--labels", "depth-first", "--resume")
    journal = tmp_path / "half.resume"
    header, entry = map(json.loads, journal.read_text().splitlines())
    assert header["journal"] == "rounds" and len(entry["sources"]) == len(entry["targets"]) > 200
    with open(journal, "a") as file:
        file.write('{"sources": ["a", "& a')  # killed while it kept the second round
    generate(tmp_path / "half", *OPTIONS, "--resume", "--workers", 1)
    assert read(tmp_path / "half") == read(tmp_path / "whole")
    names = {f"{name}.{end}" for name in ("half", "whole") for end in ("src", "tgt", "timeouts")}
    assert {path.name for path in tmp_path.iterdir()} == names


def test_resume_of_nothing_is_a_start(tmp_path):
    options = ["--size", 50, "--max-length", 6]
    generate(tmp_path / "x", *options)
    generate(tmp_path / "y", *options, "--resume")
    assert read(tmp_path / "y") == read(tmp_path / "x")


GOOD = {
    "sources": ["a"],
    "targets": ["{ a }"],
    "stopped": {},
    "skipped": {},
    "gate": {"misses": [], "idle": [], "exhausted": []},
}


@pytest.mark.parametrize(
    "damage",
    [
        {"sources": ["a", "b"]},
        {"sources": [1]},
        {"sources": "a", "targets": "b"},
        {"targets": None},
        {"stopped": ["a"]},
        {"skipped": {"timeout": "some"}},
        {"gate": {"misses": [[1]], "idle": [], "exhausted": []}},
        {"gate": {"misses": [], "idle": [], "exhausted": ["a"]}},
        {"gate": None},
    ],
)
def test_a_damaged_journal_is_named(tmp_path, damage):
    options = ["--size", 50, "--max-length", 6]
    with pytest.raises(UserError, match="cannot be drawn"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ltl.LtlGeneration, "round", refuse)
            generate(tmp_path / "x", *options)
    journal = tmp_path / "x.resume"
    with open(journal, "a") as file:
        file.writelines(json.dumps({**GOOD, **part}) + "\n" for part in ({}, damage))
    with pytest.raises(UserError, match="Line 3 of .*x.resume is damaged; omit --resume"):
        generate(tmp_path / "x", *options, "--resume")


def refuse(self, pool):
    raise UserError("it cannot be drawn")


def test_what_version_0_1_has_left_is_refused(tmp_path):
    (tmp_path / "x.resume").write_text('{"recipe": {"seed": 42}, "sizes": [0, 0, 0], "round": 0}')
    with pytest.raises(UserError, match="x.resume is no journal of rounds; omit --resume"):
        generate(tmp_path / "x", "--size", 50, "--max-length", 6, "--resume")
    generate(tmp_path / "x", "--size", 50, "--max-length", 6)
    assert len(read(tmp_path / "x")[0]) == 50


def test_depth_first_labels(data, tmp_path):
    generate(tmp_path / "x", *OPTIONS, "--labels", "depth-first")
    (sources, targets), (spots_sources, spots_targets) = read(tmp_path / "x"), read(data[0])
    assert sources == spots_sources
    traces = [depth_first_trace(source.split()) for source in sources]
    assert targets == [" ".join(trace.tokens) for trace in traces]
    assert targets != spots_targets


def test_exclude_and_names(tmp_path, capsys):
    options = ["--size", 150, "--max-length", 6, "--symbols", "X1,go,p0"]
    generate(tmp_path / "all", *options)
    generate(tmp_path / "new", *options, "--exclude", tmp_path / "all")
    assert " 0 excluded" not in capsys.readouterr().out.splitlines()[-1]
    old, new = (forms(tmp_path / name) for name in ("all", "new"))
    assert len(new) == 150 and not old & new
    assert set(" ".join(read(tmp_path / "all")[0]).split()) == {"X1", "go", "p0", *"01!&XU"}


def test_different_symbols(tmp_path):
    options = ["--size", 300, "--max-length", 12, "--distinct-symbols", "3-4"]
    generate(tmp_path / "x", *options, "--symbols", "X1,go,p0,q")
    sources, targets = read(tmp_path / "x")
    names = {"X1", "go", "p0", "q"}
    assert {len(names & set(source.split())) for source in sources} == {3, 4}
    assert set(" ".join(sources).split()) <= names | set("01!&XU")
    assert len(forms(tmp_path / "x")) == 300
    lengths = Counter(len(source.split()) for source in sources)
    assert set(lengths) == set(range(5, 13))
    assert max(lengths.values()) - min(lengths[length] for length in range(7, 13)) <= 4, lengths
    judge = SpotJudge()
    assert all(judge.verify(*pair) is Verdict.satisfied for pair in zip(sources, targets))


def test_formulas_given_up_are_reported(tmp_path, capsys, monkeypatch):
    class StoppedPool(ltl.LabelPool):
        def labels(self, formulas):
            for i, label in enumerate(super().labels(formulas)):
                yield Label("", ("timeout", "error")[i // 7 % 2]) if i % 7 == 3 else label

    monkeypatch.setattr(ltl, "LabelPool", StoppedPool)
    generate(tmp_path / "x", "--size", 100, "--min-length", 5, "--max-length", 9)
    lines = (tmp_path / "x.timeouts").read_text().splitlines()
    assert {line.split("\t")[0] for line in lines} == {"timeout", "error"}
    formulas = {line.split("\t")[1] for line in lines}
    assert len(formulas) == len(lines) > 10 and not formulas & set(read(tmp_path / "x")[0])
    said = capsys.readouterr()
    assert all(formula in said.err for formula in formulas)
    assert f"{sum(line.startswith('timeout') for line in lines)} time-outs" in said.out


def test_formulas_without_symbols(tmp_path):
    generate(tmp_path / "x", "--symbols", 0, "--size", 30, "--max-length", 9)
    sources, targets = read(tmp_path / "x")
    assert {"1", "! X 0", "U 1 ! X 0"} <= set(sources)
    assert set(" ".join(sources).split()) <= set("01!&XU")
    assert set(targets) == {"{ 1 }"}


@pytest.mark.parametrize(
    "options, words",
    [
        (["--symbols", "1", "--max-length", "2"], ["Found only", "--size 5000"]),
        (["--symbols", "a,U"], ["'U'", "--symbols"]),
        (["--min-length", "9", "--max-length", "8"], ["--min-length 9"]),
        (["--size", "0"], ["--size 0"]),
        (["--timeout", "0"], ["--timeout 0"]),
        (["--exclude", "nowhere"], ["nowhere.src"]),
        (["--distinct-symbols", "4", "--max-length", "3"], ["--distinct-symbols 4", "at most 2"]),
    ],
)
def test_mistakes_are_told(tmp_path, options, words):
    with pytest.raises(UserError) as error:
        generate(tmp_path / "x", "--size", 5000, *options)
    assert all(word in str(error.value) for word in words), error.value
    assert not list(tmp_path.glob("x.src"))
