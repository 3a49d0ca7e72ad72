"""A table of experiments from training to Markdown, by commands of their own."""

from command_line import ROOT, sit


def test_trains_measures_and_resumes(prop, tmp_path, capsys):
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
        "  training: {columns: {After 2: validation.2.correct, Weights: {number: parameters},"
        " CPU min: {number: cpu_minutes}}}}\n"
    )
    sit("experiments", tmp_path / "some.yaml", out)
    printed = capsys.readouterr()
    assert "Normal / Good / seed 1: 2 updates, " in printed.err
    table = (out / "some.md").read_text()
    assert table in printed.out
    good = [cell.strip() for cell in table.splitlines()[2].split("|")]
    assert good[2] == "Good" and "—" not in good and int(good[5].replace(",", "")) > 100_000
    assert float(good[6]) > 0
    log = out / "runs" / "Normal" / "Good" / "seed1" / "train.log"
    size = log.stat().st_size
    sit("experiments", tmp_path / "some.yaml", out)
    assert log.stat().st_size == size, "what is finished is not done again"
