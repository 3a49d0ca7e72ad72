"""Renamed input gives renamed output with the same score, printed digit for digit."""

import random
import re
import string

import pytest
from command_line import generate, preprocess_lines
from generate_output import read_generate_output

from sit_fairseq.symbols.renaming import random_renamings

COPIES = 5


def decode(data, checkpoint, tmp_path, capsys, batch_size=64):
    """Beam search over a whole split."""
    capsys.readouterr()
    generate(
        data, checkpoint, "--beam", 3, "--batch-size", batch_size, "--max-len-b", 12, "--nbest", 3
    )
    (tmp_path / "output").write_text(capsys.readouterr().out)
    return read_generate_output(str(tmp_path / "output"))


@pytest.mark.parametrize("weights", ["random", "trained"])
def test_two_thousand_renamings_change_nothing_but_names(prop, tmp_path, capsys, weights):
    checkpoint = getattr(prop, weights)
    sources, targets = (
        (prop.root / f"test.{side}").read_text().splitlines() for side in ("src", "tgt")
    )
    original = decode(prop.data, checkpoint, tmp_path, capsys)
    rng = random.Random(1)
    pairs = 0
    for copy in range(COPIES):
        renamings = [
            random_renamings(
                sorted(set(re.findall(r"\b[a-z]\b", s))), string.ascii_lowercase, 1, rng
            )
            for s in sources
        ]
        renamed = [renaming(s) for (renaming,), s in zip(renamings, sources)]
        answers = [renaming(t) for (renaming,), t in zip(renamings, targets)]
        data = preprocess_lines(tmp_path / f"copy{copy}", renamed, answers)
        for (renaming,), before, after in zip(
            renamings, original, decode(data, checkpoint, tmp_path, capsys)
        ):
            assert after.source == renaming(before.source)
            assert [(h.score, h.text) for h in after.hypotheses] == [
                (h.score, renaming(h.text)) for h in before.hypotheses
            ]
            pairs += 1
    assert pairs == 2000


def test_other_batches_change_the_last_digits_at_most(prop, tmp_path, capsys):
    together = decode(prop.data, prop.trained, tmp_path, capsys)
    alone = decode(prop.data, prop.trained, tmp_path, capsys, batch_size=7)
    for one, other in zip(together, alone):
        assert float(one.best.score) == pytest.approx(float(other.best.score), abs=1e-4)


def test_merging_symbols_is_no_renaming(prop, tmp_path, capsys):
    sources = [
        s for s in (prop.root / "test.src").read_text().splitlines() if "a" in s and "b" in s
    ]
    merged = [" ".join("a" if t == "b" else t for t in s.split()) for s in sources]
    first = preprocess_lines(tmp_path / "first", sources, ["1"] * len(sources))
    second = preprocess_lines(tmp_path / "second", merged, ["1"] * len(sources))
    scores = [
        [sentence.best.score for sentence in decode(data, prop.random, tmp_path, capsys)]
        for data in (first, second)
    ]
    assert len(sources) > 20
    assert sum(a != b for a, b in zip(*scores)) > 0.9 * len(sources)
