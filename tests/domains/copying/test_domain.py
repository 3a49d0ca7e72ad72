"""Strings to copy."""

from collections import Counter

from generated import generate, read


def test_strings_are_as_in_the_paper_unless_told_otherwise(tmp_path):
    sources, targets = read(generate("copy", tmp_path / "x", "--size", 6100))
    assert sources == targets
    lengths = Counter(len(line.split()) for line in sources)
    assert set(lengths) == set(range(20, 81))
    assert all(60 < number < 145 for number in lengths.values()), lengths  # 100 +- 4 sigma
    letters = Counter(" ".join(sources).split())
    assert set(letters) == set("abcdefghijklmnopqrst")
    assert max(letters.values()) < 1.1 * min(letters.values())  # about 15000 of each
