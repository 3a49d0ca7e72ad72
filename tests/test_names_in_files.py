"""Nothing that a file names is imported or run, through no door."""

import json
import shutil
import sys
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace

import fairseq_cli.validate
import pytest
import torch
from command_line import PLUG_IN, ROOT, UNVALIDATED, generate, preprocess_lines, run, sit, train
from test_paper_tables import CONTENT, table

from examples.paper.runs import run_table
from examples.paper.tables import IMPORTED, make_runs, settings
from sit_fairseq.errors import UserError
from sit_fairseq.model import Model
from sit_fairseq.models.fairseq_adapter import SymbolInvariantTransformerModel
from sit_fairseq.tasks.options import StreamTranslationConfig
from sit_fairseq.tasks.scoring import SemanticScorerConfig
from sit_fairseq.training.criterions import MinimumRiskCriterionConfig

HOSTILE = "evil:Object"
REFUSED = "'evil:Object' is not of the package"


@pytest.fixture(autouse=True)
def hostile_module(tmp_path, monkeypatch):
    """A module in the working directory that no test may import."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "evil.py").write_text("open('executed', 'w')\n")
    yield
    assert "evil" not in sys.modules and not (tmp_path / "executed").exists()


@pytest.fixture
def checkpoint(tmp_path):
    """The shipped model of prop, which says that its domain is another one."""
    shutil.copy(ROOT / "checkpoints/prop/model.pt", tmp_path / "m.pt")
    return name_hostile(tmp_path / "m.pt")


def name_hostile(path):
    state = torch.load(path, weights_only=False)
    state["cfg"]["task"]["domain"] = HOSTILE
    torch.save(state, path)
    return path


@pytest.fixture
def data(tmp_path):
    return preprocess_lines(tmp_path / "text", ["& a b", "| a 0"], ["a 1 b 1", "a 1"])


def test_the_library_imports_nothing(checkpoint, tmp_path):
    model = Model.load(str(checkpoint))
    assert model.answer(["& a b"], verify="prop")[0].text == "a 1 b 1"
    with pytest.raises(UserError, match=f"{REFUSED}.*change constrained"):
        model.answer(["& a b"], constrained=True)
    model.save(str(tmp_path / "again.pt"))
    assert Model.load(str(tmp_path / "again.pt")).domain == HOSTILE


def test_no_verb_of_ours_imports_anything(checkpoint, tmp_path, caplog):
    sit("answer", "prop", "a & b", "--path", checkpoint)
    (tmp_path / "x.src").write_text("& a b\n")
    (tmp_path / "x.tgt").write_text("a 1 b 1\n")
    asked = ("x", "--path", checkpoint, "--result", "x.json", "--constrained")
    sit("evaluate", "prop", *asked)
    with pytest.raises(UserError, match=REFUSED):
        sit("evaluate", "exact", *asked, "--restart")
    for option in ([], ["--hub"], ["--transformers"]):
        sit("export", checkpoint, tmp_path / "".join(["out", *option]), *option)
    config = json.loads((tmp_path / "out--transformers/config.json").read_text())
    assert config["grammar"] is None
    assert "evil:Object is not of the package" in caplog.text


def test_no_command_of_fairseq_imports_anything(checkpoint, data):
    with pytest.raises(UserError, match=f"{REFUSED}.*change semantics"):
        generate(data, checkpoint, "--scoring", "semantic")
    with pytest.raises(UserError, match=f"{REFUSED}.*change constrained"):
        generate(data, checkpoint, "--constrained")
    path = ("--path", checkpoint, "--valid-subset", "test", "--batch-size", 2, "--cpu")
    run(fairseq_cli.validate, data, *PLUG_IN, *path)


@pytest.mark.parametrize("option", ["--restore-file", "--finetune-from-model"])
def test_no_training_imports_the_domain_of_the_model_that_it_goes_on_with(data, tmp_path, option):
    risk = ("--criterion", "minimum_risk", *UNVALIDATED)
    begun = train(data, tmp_path / "one", *risk, "--risk-semantics", "prop", "--max-update", 1)
    name_hostile(begun)
    with pytest.raises(UserError, match="says no domain.*change risk_semantics"):
        train(data, tmp_path / "two", *risk, option, begun, "--max-update", 2)


def test_from_pretrained_imports_nothing(checkpoint, data, tmp_path):
    model = SymbolInvariantTransformerModel.from_pretrained(str(tmp_path), "m.pt", str(data))
    assert model.answer(["& a b"])[0].text == "a 1 b 1"
    with pytest.raises(UserError, match=REFUSED):
        model.answer(["& a b"], constrained=True)


@pytest.mark.parametrize(
    "measured",
    [
        {"module": "evil", "command": "x"},
        {"module": "pdb", "command": "-c q"},
        {"module": "prop", "command": "x"},
        {"command": f"{HOSTILE} x"},
        {"command": f"prop x --verify {HOSTILE}"},
        {"command": f"prop x --verify={HOSTILE}"},
        {"command": f"prop x --constrained {HOSTILE}"},
    ],
)
def test_a_table_measures_by_what_is_ours(measured):
    with pytest.raises(UserError, match="test cannot be used: '.*' is not of the package"):
        table(measurements={"test": {**measured, "columns": {}}})


@pytest.mark.parametrize("option", IMPORTED)
def test_a_training_of_a_table_imports_what_is_ours(option):
    one = make_runs(table(), Path("out"))[0]
    assert settings(one._replace(overrides=[f"task.{option}=prop"]), {})["task"][option] == "prop"
    with pytest.raises(UserError, match=REFUSED):
        settings(one._replace(overrides=[f"task.{option}={HOSTILE}"]), {})
    with pytest.raises(UserError, match=REFUSED):
        settings(one, {"task": {option: HOSTILE}})


def test_every_option_that_takes_an_object_is_known_to_tables():
    kinds = (StreamTranslationConfig, SemanticScorerConfig, MinimumRiskCriterionConfig)
    takes = {
        option.name
        for kind in kinds
        for option in fields(kind)
        if "MODULE:" in option.metadata.get("help", "")
    }
    assert takes == {*IMPORTED}


@pytest.mark.parametrize(
    "word", ["optimizer.adam_betas='__import__(\"evil\")'", 'model.x=\'[open("executed", "w")]\'']
)
def test_a_training_of_a_table_has_no_text_that_fairseq_would_evaluate(word):
    one = make_runs(table(), Path("out"))[0]._replace(overrides=[word])
    with pytest.raises(UserError, match="which Python would run"):
        settings(one, {})
    known = "optimizer.adam_betas='(0.9, 0.95)'"
    assert settings(one._replace(overrides=[known]), {})["optimizer"]["adam_betas"] == "(0.9, 0.95)"


@pytest.fixture
def measured(tmp_path):
    """A table of one measurement, which is made again."""
    folder = tmp_path / "runs/All/A/seed1"
    for made in (folder, tmp_path / "bin"):
        made.mkdir(parents=True)
    given = {"models": {}, "checkpoints": {"A": "m.pt"}, "hydra": [], "seeds": [1]}
    given["measurements"] = {"test": CONTENT["measurements"]["test"]}
    some = table(tmp_path, conditions={"All": {"data": "bin"}}, **given)
    return SimpleNamespace(folder=folder, again=lambda: run_table(some, tmp_path, "some", 1))


WHOLE = {
    "result": {"correct": {"share": 1}},
    "files": {"m.pt": "0"},
    "versions": {},
    "undecided": 0,
}


@pytest.mark.parametrize(
    "content",
    [b"{}", b"[]", b"no json", b"\xff", b"[" * 100_000]
    + [json.dumps({**WHOLE, **part}).encode() for part in ({"files": {}}, {"files": {"m.pt": 1}})]
    + [json.dumps({**WHOLE, name: None}).encode() for name in WHOLE],
)
def test_a_damaged_result_is_refused(measured, content):
    (measured.folder / "test.json").write_bytes(content)
    with pytest.raises(UserError, match="test.json is no result file .*remove it"):
        measured.again()
