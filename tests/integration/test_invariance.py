"""Renamed input gives renamed output with the same score, printed digit for digit."""

import random
import re
import string

import pytest
from command_line import generate, preprocess_lines, printed

from sit_fairseq.symbols.renaming import random_renamings

COPIES = 5


def decode(data, checkpoint, capsys):
    """Beam search over a whole split."""
    capsys.readouterr()
    search = ("--beam", 3, "--batch-size", 128, "--max-len-b", 12, "--nbest", 3)
    generate(data, checkpoint, *search)
    return printed(capsys.readouterr().out)


@pytest.mark.parametrize("weights", ["random", "trained"])
def test_five_hundred_renamings_change_nothing_but_names(prop, tmp_path, capsys, weights):
    checkpoint, rng = getattr(prop, weights), random.Random(1)
    lines = prop.lines * COPIES
    targets = (prop.root / "test.tgt").read_text().splitlines() * COPIES
    renamings = [
        random_renamings(sorted(set(re.findall(r"\b[a-z]\b", s))), string.ascii_lowercase, 1, rng)[
            0
        ]
        for s in lines
    ]
    renamed = [[renaming(s) for renaming, s in zip(renamings, side)] for side in (lines, targets)]
    original, found = (
        decode(preprocess_lines(tmp_path / name, *sides), checkpoint, capsys)
        for name, sides in (("original", (lines, targets)), ("renamed", renamed))
    )
    assert len(original) == 100 * COPIES
    for renaming, before, after in zip(renamings, original, found, strict=True):
        assert after.source == renaming(before.source) and after.scores == before.scores
        assert after.answers == list(map(renaming, before.answers))


def test_merging_symbols_is_no_renaming(prop, tmp_path, capsys):
    sources = [line for line in prop.lines if "a" in line.split() and "b" in line.split()]
    merged = [re.sub(r"\bb\b", "a", line) for line in sources]
    scores = []
    for name, lines in (("first", sources), ("second", merged)):
        data = preprocess_lines(tmp_path / name, lines, ["1"] * len(lines))
        scores.append([s.scores[0] for s in decode(data, prop.random, capsys)])
    assert len(sources) > 10
    assert sum(a != b for a, b in zip(*scores)) > 0.9 * len(sources)
