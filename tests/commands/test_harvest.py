"""``sit harvest``: verified pairs from formulas without labels."""

import json
import re

import pytest
from command_line import preprocess_lines, sit, train

from sit_fairseq.errors import UserError
from sit_fairseq.evaluation.decoding import CheckpointDecoder
from sit_fairseq.evaluation.harvest import harvest_table, measure_harvest
from sit_fairseq.judging.judge import make_judge
from sit_fairseq.judging.verdict import Verdict

OPTIONS = ("--semantics", "prop", "--max-len-b", 8, "--device", "cpu", "--batch-size", 8)
FORMULAS = ["| a ! a", "& a ! a", "xor a b", "! c", "| b & a c", "<-> a a", "a", "& a & b c"] * 3


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A hardly trained model."""
    root = tmp_path_factory.mktemp("harvest")
    sit("generate", "prop", root / "train", "--size", 300, "--max-length", 9, "--workers", 1)
    sources, targets = (
        (root / f"train.{side}").read_text().splitlines() for side in ("src", "tgt")
    )
    data = preprocess_lines(root / "data", sources, targets, split="valid")
    return train(data, root / "model", "--max-update", 60, "--disable-validation")


def harvest(tmp_path, model, lines, *options):
    """Runs the verb and returns the pairs."""
    (tmp_path / "formulas.txt").write_text("".join(line + "\n" for line in lines))
    out = tmp_path / "out"
    sit("harvest", tmp_path / "formulas.txt", out, "--path", model, *OPTIONS, *options)
    return pairs(out)


def pairs(out):
    sides = (out.with_suffix(f".{side}").read_text().splitlines() for side in ("src", "tgt"))
    return list(zip(*sides))


def test_every_pair_is_verified_and_in_order(tmp_path, model, capsys):
    found = harvest(tmp_path, model, FORMULAS, "--beam", 12)
    judge = make_judge("prop", "aiger")
    assert all(judge.verify(*pair) is Verdict.satisfied for pair in found)
    sources = iter(FORMULAS)
    assert found and all(source in sources for source, _ in found)
    assert not any(source == "& a ! a" for source, _ in found)
    result = json.loads((tmp_path / "out.json").read_text())
    assert result["metric"] == "harvest" and result["samples"] == len(FORMULAS)
    assert result["result"]["verified"]["count"] == len(found)
    assert re.search(rf"\| all +\| {len(found)} of 24", capsys.readouterr().out)


def test_the_shortest(tmp_path, model):
    first = dict(harvest(tmp_path, model, FORMULAS, "--beam", 12))
    with pytest.raises(UserError, match="answers of another run.*choose.*or another OUT to keep"):
        harvest(tmp_path, model, FORMULAS, "--beam", 12, "--choose", "shortest")
    options = ("--beam", 12, "--choose", "shortest", "--restart")
    shortest = dict(harvest(tmp_path, model, FORMULAS, *options))
    assert first.keys() == shortest.keys()
    lengths = [(len(shortest[source].split()), len(first[source].split())) for source in first]
    assert all(short <= long for short, long in lengths)


def test_narrow_beams_first(tmp_path, model):
    """As many formulas get an answer as by the widest beam alone, or more."""
    wide = harvest(tmp_path, model, FORMULAS, "--beam", 12)
    first = harvest(tmp_path, model, FORMULAS, "--verify-beams", "1", "--restart")
    found = harvest(tmp_path, model, FORMULAS, "--verify-beams", "1,12", "--restart")
    assert set(first) < set(found)
    assert {source for source, _ in wide} <= {source for source, _ in found}


def test_an_interrupted_run_is_continued(tmp_path, model, monkeypatch):
    whole = tmp_path / "whole"
    whole.mkdir()
    expected = harvest(whole, model, FORMULAS, "--beam", 4)
    decode, decoded = CheckpointDecoder.decode, []

    def interrupted(self, sources, skip=()):
        for number, batch in enumerate(decode(self, sources, skip)):
            if number == 1 and not decoded:
                decoded.append(set(skip))
                raise KeyboardInterrupt
            yield batch
        decoded.append(set(skip))

    monkeypatch.setattr(CheckpointDecoder, "decode", interrupted)
    with pytest.raises(UserError, match="Interrupted; the same command goes on"):
        harvest(tmp_path, model, FORMULAS, "--beam", 4)
    assert not (tmp_path / "out.src").exists()
    assert harvest(tmp_path, model, FORMULAS, "--beam", 4) == expected
    assert [len(skip) for skip in decoded] == [0, 8]


def test_why_no_formula_can_be_read(tmp_path, model):
    with pytest.raises(UserError, match=r"formulas.txt cannot be .* judged: lines 1, 2 \(line 1: "):
        harvest(tmp_path, model, ["& a", "b b"], "--beam", 4)
    assert not (tmp_path / "out.src").exists()


def test_formulas_that_cannot_be_read_cost_no_other(tmp_path, model):
    lines = [*FORMULAS[:4], "& a", "X a", "", *FORMULAS[4:]]
    expected = harvest(tmp_path, model, FORMULAS, "--beam", 4)
    with pytest.raises(UserError) as error:
        harvest(tmp_path, model, lines, "--beam", 4, "--restart")
    assert re.search(
        r"3 of 27 lines of .*formulas.txt cannot be answered and judged, all others were: lines "
        r"5, 6, 7 \(line 5: ",
        str(error.value),
    )
    assert pairs(tmp_path / "out") == expected
    invalid = json.loads((tmp_path / "out.json").read_text())["result"]["invalid"]
    assert list(invalid) == ["5", "6", "7"] and "'X'" in invalid["6"]


@pytest.mark.parametrize(
    "semantics, reason",
    [
        ("ltl", "ltl does not suit this model.* --verify"),
        ("exact", "exact compares answers with references.* --semantics"),
        ("sat", "unknown semantics 'sat'.* --semantics"),
    ],
)
def test_what_cannot_be_harvested(tmp_path, model, semantics, reason):
    with pytest.raises(UserError, match=reason):
        harvest(tmp_path, model, FORMULAS, "--semantics", semantics)
    assert not (tmp_path / "out.src").exists()


def test_the_place_that_cannot_be_written_is_called_as_on_the_command_line(tmp_path):
    (tmp_path / "file").write_text("")
    out = tmp_path / "file" / "out"
    with pytest.raises(UserError, match="Cannot write .*out.json: .*; change OUT"):
        sit("harvest", tmp_path / "file", out, "--path", tmp_path / "none", *OPTIONS)


def test_the_table():
    sizes, found = [(1, 3), (2, 10), (2, 11), (2, 11)], [True, False, True, False]
    result = measure_harvest(sizes, found)
    assert result["cells"][-1] == {"symbols": 2, "length": 11, "count": 2, "verified": 1}
    rows = [row[:4] for row in harvest_table(result)]
    assert rows == [
        ["symbols", "1 to 10 tokens", "11 to 20 tokens", "all"],
        [1, "1 of 1", "0 of 0", "1 of 1"],
        [2, "0 of 1", "1 of 2", "1 of 3"],
        ["all", "1 of 2", "1 of 2", "2 of 4"],
    ]
