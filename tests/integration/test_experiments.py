"""A table of experiments from training to Markdown."""

import json

import pytest
from command_line import ROOT, sit

from sit_fairseq.errors import UserError


def test_trains_measures_and_resumes(prop, tmp_path, capsys):
    (tmp_path / "hydra").mkdir()
    mini = (ROOT / "examples/prop/hydra/mini.yaml").read_text()
    (tmp_path / "hydra" / "mini.yaml").write_text(mini)
    out = tmp_path / "März, (a=1) ~ [2]"  # which hydra would not take on its command line
    out.mkdir()
    (out / "bin").symlink_to(prop.data)
    (tmp_path / "some.yaml").write_text(
        "overrides: [optimization.max_update=2, dataset.batch_size=16, dataset.num_workers=0,"
        " task.validate_samples=4, common.cpu=true]\n"
        "conditions: {Normal: bin}\n"
        "models: {Good: [], Bad: [model.encoder_attention_heads=7]}\n"
        "measurements: {test: {command: [correct, valid, --semantics, prop, --beam, 1,"
        " --max-len-b, 8], columns: {Correct: correct.share}},\n"
        "  training: {columns: {After 2: validation.2.correct, CPU min: {number: cpu_minutes}}}}\n"
    )
    for side in ("src", "tgt"):
        (out / f"valid.{side}").symlink_to(prop.root / f"valid.{side}")
    with pytest.raises(UserError, match="1 of 2 runs failed"):
        sit("experiments", tmp_path / "some.yaml", out)
    printed = capsys.readouterr()
    assert "Normal / Bad / seed 1 FAILED, see" in printed.err
    raw = json.loads((out / "some.json").read_text())
    good, bad = raw
    assert bad["results"] is None and good["results"]["test"]["correct"]["total"] == 70
    assert good["results"]["training"]["validation"]["2"].keys() >= {"correct", "exact"}
    assert good["results"]["training"]["cpu_minutes"] > 0
    assert good["results"]["training"]["parameters"] > 100_000
    assert (out / "some.md").read_text() in printed.out
    log = out / "runs" / "Normal" / "Good" / "seed1" / "train.log"
    size = log.stat().st_size
    with pytest.raises(UserError, match="1 of 2 runs failed"):
        sit("experiments", tmp_path / "some.yaml", out)
    assert log.stat().st_size == size, "what is finished is not done again"
