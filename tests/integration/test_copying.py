"""The copying task, from strings to judged copies."""

import re

import pytest
from command_line import generate, preprocess, sit, train
from generate_output import read_generate_output

from sit_fairseq.judging.equality_judges import edit_distance


def test_copies_of_more_symbols_and_longer_strings_are_judged(tmp_path, capsys, caplog):
    options = ["--symbols", "4", "--min-length", "1", "--max-length", "9", "--workers", "1"]
    sit("generate", "copy", tmp_path / "train", "--size", 500, *options)
    files = ("--trainpref", tmp_path / "train", "--validpref", tmp_path / "train")
    data = preprocess(tmp_path / "bin", *files)
    with caplog.at_level("INFO"):
        model = train(
            data,
            tmp_path / "model",
            *("--encoder-positions", "rope", "--max-update", 16, "--warmup-updates", 10),
            *("--validate-semantics", "copy", "--validate-samples", 50),
        )
    validated = [line for line in caplog.messages if "on 'valid' subset" in line][-1]
    shares = [
        float(re.search(rf"{name} ([\d.]+)", validated).group(1))
        for name in ("correct", "violated")
    ]
    assert sum(shares) == pytest.approx(100) and 0 < shares[0] < 100
    assert re.search(r"exact ([\d.]+)", validated).group(1) == f"{shares[0]:g}"

    grid = ["--semantics", "copy", "--max-symbols", "7", "--max-length", "8", "--per-cell", "3"]
    sit("generate", "grid", tmp_path / "grid", *grid)
    files = ("--trainpref", tmp_path / "grid" / "grid", "--testpref", tmp_path / "grid" / "grid")
    data = preprocess(tmp_path / "grid.bin", *files)
    capsys.readouterr()
    scoring = ("--scoring", "semantic", "--semantics", "copy")
    generate(data, model, "--beam", 1, "--max-len-a", 2, "--max-len-b", 0, *scoring)
    output = capsys.readouterr().out
    (tmp_path / "output").write_text(output)
    sentences = read_generate_output(str(tmp_path / "output"))
    pairs = [(sentence.source.split(), sentence.best.text.split()) for sentence in sentences]
    assert len(pairs) > 60
    verdicts = [sentence.best.verdict for sentence in sentences]
    assert verdicts == ["satisfied" if a == b else "violated" for a, b in pairs]
    assert 0 < verdicts.count("satisfied") < len(pairs)
    mean = sum(edit_distance(*pair) for pair in pairs) / len(pairs)
    assert f"; mean edit distance {mean:.4g}\n" in output
