"""A table from training to Markdown, by commands of their own."""

import subprocess
import sys

from command_line import ROOT


def test_trains_measures_and_resumes(prop, tmp_path):
    out = tmp_path / "März, (a=1) ~ [2]"  # which hydra would not take on its command line
    out.mkdir()
    (out / "bin").symlink_to(prop.data)
    for side in ("src", "tgt"):
        (out / f"valid.{side}").symlink_to(prop.root / f"valid.{side}")
    hydra = [str(ROOT / f"examples/paper/hydra/{name}.yaml") for name in ("prop", "ours")]
    (tmp_path / "some.yaml").write_text(
        f"hydra: [{', '.join(hydra)}]\n"
        "overrides: optimization.max_update=2 dataset.batch_size=16 dataset.num_workers=0"
        " task.validate_samples=4 common.cpu=true\n"
        "conditions: {Normal: {data: bin}}\n"
        "models: {Good: ''}\n"
        "measurements: {test: {command: prop valid --beam 1 --max-len-b 8,"
        " columns: {Correct: correct.share}},\n"
        "  training: {columns: {After 2: validation.2.correct, Weights: parameters,"
        " CPU min: cpu_minutes}}}\n"
    )
    words = [sys.executable, ROOT / "examples/paper/run.py", tmp_path / "some.yaml", "--out", out]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0 and "Normal / Good / seed 1: 2 updates, " in done.stderr
    table = (out / "some.md").read_text()
    assert table in done.stdout
    good = [cell.strip() for cell in table.splitlines()[2].split("|")]
    assert good[2] == "Good" and "—" not in good and int(good[5].replace(",", "")) > 100_000
    assert float(good[6]) > 0
    log = out / "runs" / "Normal" / "Good" / "seed1" / "train.log"
    size = log.stat().st_size
    subprocess.run(words, check=True)
    assert log.stat().st_size == size, "what is finished is not done again"
