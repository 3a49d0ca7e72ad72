"""LTL data: what formulas and traces there are, and how interrupted generations go on."""

import json
from collections import Counter

import pytest
from conftest import needs_spot
from generated import forms, generate, read

from sit_fairseq.datasets import generation, quotas
from sit_fairseq.datasets.labelling import Label
from sit_fairseq.domains.by_name import make_judge
from sit_fairseq.domains.ltl import recipe
from sit_fairseq.domains.ltl.recipe import SpotLabeller
from sit_fairseq.domains.ltl.traces import check_ltl, parse_trace
from sit_fairseq.errors import UserError
from sit_fairseq.judging.verdict import Verdict

pytestmark = [needs_spot, pytest.mark.slow]

OPTIONS = ["--size", 240, "--max-length", 20]
BASE = {*"01!&XU"}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """The formulas and traces of a data set of 240 pairs."""
    return read(generate("ltl", tmp_path_factory.mktemp("ltl") / "x", *OPTIONS))


def test_traces_are_right(data):
    judge = make_judge("ltl")
    for source, target in zip(*data):
        check_ltl(source.split())
        assert parse_trace(target.split()).tokens == target.split()
        assert "0" not in target.split()
        assert judge.verify(source, target) is Verdict.satisfied
    assert set(" ".join(data[0]).split()) == {*"abcde", *BASE}


def test_lengths_are_uniform_once_there_are_enough_formulas(data, tmp_path):
    lengths = Counter(len(source.split()) for source in data[0])
    assert set(lengths) == set(range(1, 21))
    assert lengths[1] <= 2  # a, 1
    assert max(lengths.values()) - min(lengths[length] for length in range(6, 21)) <= 4, lengths
    options = ["--size", 120, "--max-length", 12, "--distinct-symbols", "3-4"]
    generate("ltl", tmp_path / "x", *options, "--symbols", "X1,go,p0,q")
    sources, _ = read(tmp_path / "x")
    lengths = Counter(len(source.split()) for source in sources)
    assert set(lengths) == set(range(5, 13))
    assert max(lengths.values()) - min(lengths[length] for length in range(7, 13)) <= 4, lengths
    assert set(" ".join(sources).split()) <= {"X1", "go", "p0", "q", *BASE}


def test_data_do_not_depend_on_what_spot_has_seen(data, tmp_path):
    import spot

    seen = [spot.formula.ap(f"p{index}") for index in reversed(range(5))]
    assert read(generate("ltl", tmp_path / "x", *OPTIONS)) == data
    assert len(seen) == 5


def test_formulas_given_up_are_listed_and_counted(tmp_path, capsys, monkeypatch):
    class StoppedPool(generation.LabelPool):
        def results(self, formulas):
            for i, label in enumerate(super().results(formulas)):
                yield Label("", ("timeout", "error")[i // 7 % 2]) if i % 7 == 3 else label

    monkeypatch.setattr(generation, "LabelPool", StoppedPool)
    generate("ltl", tmp_path / "x", "--size", 100, "--min-length", 5, "--max-length", 9)
    lines = (tmp_path / "x.timeouts").read_text().splitlines()
    assert {line.split("\t")[0] for line in lines} == {"timeout", "error"}
    formulas = {line.split("\t")[1] for line in lines}
    assert len(formulas) == len(lines) > 10 and not formulas & set(read(tmp_path / "x")[0])
    said = capsys.readouterr()
    assert all(formula in said.err for formula in formulas)
    assert f"{sum(line.startswith('timeout') for line in lines)} timeout" in said.out


class InterruptedPool(generation.LabelPool):
    """Is interrupted in the second round."""

    rounds = 0

    def results(self, formulas):
        self.rounds += 1
        if self.rounds == 2:
            raise KeyboardInterrupt
        return super().results(formulas)


@pytest.fixture
def interrupted(tmp_path, monkeypatch):
    """The prefix of a generation that was interrupted, with the labels of one round."""
    monkeypatch.setattr(quotas, "LABELS_PER_ROUND", 120)
    with monkeypatch.context() as patch:
        patch.setattr(generation, "LabelPool", InterruptedPool)
        with pytest.raises(KeyboardInterrupt):
            generate("ltl", tmp_path / "x", *OPTIONS)
    assert {path.name for path in tmp_path.iterdir()} == {"x.journal"}
    return tmp_path / "x"


def test_an_interrupted_generation_goes_on(interrupted, tmp_path, monkeypatch):
    whole = read(generate("ltl", tmp_path / "whole", *OPTIONS))
    labelled = []

    class Pool(generation.LabelPool):
        def results(self, formulas):
            labelled.extend(formulas)
            return super().results(formulas)

    monkeypatch.setattr(generation, "LabelPool", Pool)
    _, entry = map(json.loads, (tmp_path / "x.journal").read_text().splitlines())
    with open(tmp_path / "x.journal", "a") as file:
        file.write('{"a": ["{ a }"')  # killed while it kept the second round
    assert read(generate("ltl", interrupted, *OPTIONS, "--workers", 1)) == whole
    assert len(entry) == 120
    assert labelled and not {formula for formula, (_, fault) in entry.items() if not fault} & {
        *labelled
    }
    names = {f"{name}.{end}" for name in ("x", "whole") for end in ("src", "tgt", "timeouts")}
    assert {path.name for path in tmp_path.iterdir()} == names


def test_a_generation_of_other_data_does_not_go_on(interrupted, tmp_path):
    for words, option in ((("--seed", 1), "seed"), (("--labels", "depth-first"), "labels")):
        with pytest.raises(UserError, match=f"{option}.*--restart"):
            generate("ltl", interrupted, *OPTIONS, *words)
    header, entry = (tmp_path / "x.journal").read_text().splitlines()
    other = {"! a": ["{ ! a }", None], **json.loads(entry)}
    (tmp_path / "x.journal").write_text(f"{header}\n{json.dumps(other)}\n")
    with pytest.raises(UserError, match="Line 2 of .*x.journal is damaged.*--restart"):
        generate("ltl", interrupted, *OPTIONS)
    sources, _ = read(generate("ltl", interrupted, *OPTIONS, "--seed", 1, "--restart"))
    assert len(forms(sources)) == 240


def test_labeller_asks_spot_where_depth_first_finds_nothing(monkeypatch):
    formula = "! U a b"
    spots, depth_first = Label("{ & a ! b }"), Label("{ ! b }")
    assert SpotLabeller()(formula) == spots
    assert SpotLabeller(depth_first=True)(formula) == depth_first
    monkeypatch.setattr(recipe, "depth_first_trace", lambda formula: None)
    assert SpotLabeller(depth_first=True)(formula) == spots
