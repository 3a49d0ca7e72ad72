"""The generator of strings to be copied."""

from collections import Counter
from pathlib import Path

import pytest
from command_line import sit

from sit_fairseq.errors import UserError


def generate(prefix, *options):
    """Runs the verb in this process."""
    sit("generate", "copy", prefix, *options)


def read(prefix):
    """The lines of PREFIX.src, which must be those of PREFIX.tgt."""
    source, target = (Path(f"{prefix}.{end}").read_bytes() for end in ("src", "tgt"))
    assert source == target
    return source.decode().splitlines()


def test_strings_are_as_in_the_paper_unless_told_otherwise(tmp_path, capsys):
    generate(tmp_path / "sub" / "train", "--size", 6100)
    lines = read(tmp_path / "sub" / "train")
    assert len(lines) == len(set(lines)) == 6100
    lengths = Counter(len(line.split()) for line in lines)
    assert set(lengths) == set(range(20, 81))
    assert all(60 < number < 145 for number in lengths.values()), lengths  # 100 +- 4 sigma
    letters = Counter(" ".join(lines).split())
    assert set(letters) == set("abcdefghijklmnopqrst")
    assert max(letters.values()) < 1.1 * min(letters.values())  # about 15000 of each
    assert "6100 strings" in capsys.readouterr().out
    assert sorted(path.name for path in (tmp_path / "sub").iterdir()) == ["train.src", "train.tgt"]


def test_workers_and_size_do_not_matter_and_the_seed_does(tmp_path):
    generate(tmp_path / "one", "--size", 2500, "--workers", 1)
    generate(tmp_path / "two", "--size", 2600, "--workers", 2)
    generate(tmp_path / "other", "--size", 2500, "--seed", 43)
    one = read(tmp_path / "one")
    assert read(tmp_path / "two")[:2500] == one
    assert not set(read(tmp_path / "other")) & set(one)


def form(line):
    """A string up to renaming: where each of its tokens first was."""
    tokens = line.split()
    return tuple(map(tokens.index, tokens))


def test_names_and_lengths(tmp_path):
    options = ["--min-length", 1, "--max-length", 9, "--size", 300]
    generate(tmp_path / "x", "--symbols", 40, *options)
    lines = [line.split() for line in read(tmp_path / "x")]
    assert {token for line in lines for token in line} == {f"p{i}" for i in range(40)}
    assert {len(line) for line in lines} == set(range(1, 10))


def test_there_are_no_renamings(tmp_path, capsys):
    options = ["--symbols", "a,b,c", "--min-length", 1, "--max-length", 4]
    generate(tmp_path / "all", *options, "--size", 22)
    # As many as there are partitions of 1, 2, 3 and 4 places into at most 3 classes.
    assert len(set(map(form, read(tmp_path / "all")))) == 1 + 2 + 5 + 14
    with pytest.raises(UserError, match="only 22 samples"):
        generate(tmp_path / "x", *options, "--size", 23)
    longer = ["--symbols", "x,y,z", "--max-length", 5, "--min-length", 1, "--size", 41]
    generate(tmp_path / "new", *longer, "--exclude", tmp_path / "all")
    assert " 0 excluded" not in capsys.readouterr().out.splitlines()[-1]
    assert {len(line.split()) for line in read(tmp_path / "new")} == {5}
    assert len(set(map(form, read(tmp_path / "new")))) == 41


def test_different_symbols(tmp_path):
    options = ["--symbols", 8, "--min-length", 1, "--max-length", 9, "--size", 1500]
    generate(tmp_path / "x", *options, "--distinct-symbols", "3-4")
    lines = read(tmp_path / "x")
    assert {len(set(line.split())) for line in lines} == {3, 4}
    assert {len(line.split()) for line in lines} == set(range(3, 10))
    # Of the strings of 9 tokens over 8 symbols 56 * 18150 have three, 70 * 186480 four of them.
    long = [line for line in lines if len(line.split()) == 9]
    three = sum(len(set(line.split())) == 3 for line in long) / len(long)
    assert len(long) > 200 and abs(three - 0.0723) < 4 * (0.0723 * 0.93 / len(long)) ** 0.5


@pytest.mark.parametrize(
    "options, words",
    [
        (["--symbols", "0"], ["--symbols 0", "at least one"]),
        (["--symbols", "a,U"], ["'U'"]),
        (["--min-length", "90"], ["--min-length 90 --max-length 80"]),
        (["--size", "0"], ["--size 0"]),
        (["--distinct-symbols", "21"], ["--distinct-symbols 21", "--symbols 20"]),
        (["--symbols", "99", "--distinct-symbols", "81"], ["--distinct-symbols 81", "at most 80"]),
        (["--exclude", "nowhere"], ["nowhere.src"]),
    ],
)
def test_mistakes_are_told(tmp_path, options, words):
    with pytest.raises(UserError) as error:
        generate(tmp_path / "x", *options)
    assert all(word in str(error.value) for word in words), error.value
    assert list(tmp_path.iterdir()) == []


def test_unwritable(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="Cannot write .*file/x.src"):
        generate(tmp_path / "file" / "x", "--size", 10)
