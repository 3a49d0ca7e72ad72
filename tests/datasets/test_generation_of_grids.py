"""Random grids of test data, made as users make them."""

import hashlib
from collections import Counter

import pytest
from command_line import sit
from conftest import needs_spot
from generated import forms

from sit_fairseq.datasets.grid import Grid
from sit_fairseq.domains.by_name import make_judge
from sit_fairseq.domains.formulas.syntax import formula_symbols
from sit_fairseq.errors import UserError
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.storage.journal import Journal
from sit_fairseq.symbols.renaming import Renaming

SMALL = ["--max-symbols", 2, "--max-length", 5, "--per-cell", 3]


def generate(folder, semantics, *options):
    """Runs the verb in this process and returns the grid."""
    sit("grid", semantics, folder, *options)
    return Grid.read(str(folder))


def samples(grid, cell):
    """The pairs of a cell, as text."""
    lines = slice(cell.first, cell.first + cell.count)
    return list(zip(grid.sources[lines], grid.targets[lines]))


def check_cells(grid, names):
    """Checks lengths, symbols, duplicates and counts of every cell."""
    for cell in grid.cells:
        sources = [source for source, _ in samples(grid, cell)]
        for tokens in map(str.split, sources):
            assert len(tokens) == cell.length
            assert sorted(formula_symbols(tokens), key=names.index) == list(names[: cell.symbols])
        assert len(forms(sources)) == cell.count
        left_out = sum(number for name, number in cell.extra.items() if name != "candidates")
        assert cell.extra["candidates"] == cell.count + left_out


def test_prop(tmp_path, capsys):
    grid = generate(tmp_path, "prop", "--max-symbols", 4, "--max-length", 12, "--per-cell", 20)
    cells = [(k, n) for k in range(1, 5) for n in range(1, 13) if n >= 2 * k - 1]
    assert [(cell.symbols, cell.length) for cell in grid.cells] == cells
    check_cells(grid, "abcd")
    judge = make_judge("prop")
    counts = {}
    for cell in grid.cells:
        counts[cell.symbols, cell.length] = cell.count
        for source, target in samples(grid, cell):
            assert judge.verify(source, target) is Verdict.satisfied
            assert judge.verify(source, "") is Verdict.violated  # no tautology
    # All there are: a; ! a; ! ! a, three with &, three with |, four with <->, four with xor.
    assert [counts[1, 1], counts[1, 2], counts[1, 3]] == [1, 1, 15]
    assert [counts[2, 3], counts[3, 5]] == [4, 20]
    assert grid.seed == 42 and grid.options["per_cell"] == 20
    assert "sit_fairseq" in grid.options["versions"]
    assert f"{len(grid.sources)} samples" in capsys.readouterr().out
    assert len(list(tmp_path.iterdir())) == 3
    grid = generate(tmp_path, "prop", "--max-symbols", 2, "--max-length", 12, "--step", 2)
    assert [(c.symbols, c.length) for c in grid.cells] == [(2, n) for n in (4, 6, 8, 10, 12)]
    firsts = Counter(formula_symbols(source.split())[0] for source in grid.sources)
    assert min(firsts["a"], firsts["b"]) > 0.4 * len(grid.sources)


def test_copy(tmp_path):
    grid = generate(tmp_path, "copy", "--max-symbols", 30, "--max-length", 40, "--step", 10)
    sizes = [(k, length) for k in (10, 20, 30) for length in range(k, 41, 10)]
    # There is one string without repetitions.
    assert [(cell.symbols, cell.length, cell.count) for cell in grid.cells] == [
        (k, length, 20 if k < length else 1) for k, length in sizes
    ]
    check_cells(grid, [f"p{i}" for i in range(30)])
    assert grid.sources == grid.targets
    grid = generate(tmp_path, "copy", "--max-symbols", 2, "--max-length", 2)
    assert grid.sources in (["a", "a a", "a b"], ["a", "a a", "b a"])


def test_renamings_of_excluded_samples_are_left_out(tmp_path):
    options = ["--max-symbols", 3, "--max-length", 6, "--per-cell", 4]
    old = generate(tmp_path / "old", "prop", *options)
    excluded = tmp_path / "renamed.src"
    swap = Renaming({"a": "x", "b": "a", "c": "b"})
    excluded.write_text("".join(swap(source) + "\n" for source in old.sources))
    new = generate(tmp_path / "new", "prop", *options, "--exclude", excluded)
    check_cells(new, "abc")
    assert new.sources and not forms(new.sources) & forms(old.sources)
    assert sum(cell.extra["excluded"] for cell in new.cells) > len(old.sources)
    assert new.options["exclude"] == [str(excluded)]


def test_workers_do_not_matter_and_the_seed_does(tmp_path):
    options = ["--max-symbols", 3, "--max-length", 7, "--per-cell", 8]
    one, two = (generate(tmp_path / n, "prop", *options, "--workers", n) for n in "12")
    assert one == two
    other = generate(tmp_path / "3", "prop", *options, "--seed", 1)
    assert other.sources != one.sources
    # With fewer per cell they are the first ones.
    fewer = generate(tmp_path / "4", "prop", *options[:-1], 4)
    for more, less in zip(one.cells, fewer.cells):
        assert samples(fewer, less) == samples(one, more)[:4]


@pytest.mark.parametrize(
    "semantics, digest",
    [
        ("prop", "6ab735b15fb99361"),
        ("copy", "76931c967ac0ea8c"),
        pytest.param("ltl", "4b9203c80c550e02", marks=needs_spot),
    ],
)
def test_the_data_of_a_seed_never_change(tmp_path, semantics, digest):
    """Results that were published depend on them."""
    options = ["--max-symbols", 3, "--max-length", 10, "--per-cell", 4, "--step", 2]
    generate(tmp_path, semantics, *options)
    texts = [(tmp_path / f"grid.{side}").read_bytes() for side in ("src", "tgt")]
    assert hashlib.sha256(b"".join(texts)).hexdigest()[:16] == digest


@pytest.fixture(scope="module")
def ltl(tmp_path_factory):
    """A small grid of LTL."""
    return generate(tmp_path_factory.mktemp("ltl"), "ltl", *SMALL)


@needs_spot
def test_ltl(ltl):
    cells = [(k, n) for k in range(3) for n in range(1, 6) if n >= 2 * k - 1]
    assert [(cell.symbols, cell.length) for cell in ltl.cells] == cells
    check_cells(ltl, "ab")
    judge = make_judge("ltl")
    for source, target in zip(ltl.sources, ltl.targets):
        assert judge.verify(source, target) is Verdict.satisfied
    cells = {(cell.symbols, cell.length): cell for cell in ltl.cells}
    assert samples(ltl, cells[0, 1]) == [("1", "{ 1 }")]
    assert samples(ltl, cells[0, 2]) == []  # X 0 alone, which is unsatisfiable
    assert cells[0, 2].extra["unsatisfiable"] == 1
    assert samples(ltl, cells[0, 3]) == [("! X 0", "{ 1 }")]
    assert samples(ltl, cells[1, 2]) and cells[1, 5].count == cells[2, 5].count == 3
    assert set(cells[0, 1].extra) == {
        *("candidates", "duplicates", "excluded", "rewritten", "unsatisfiable"),
        *("timeout", "error", "zero_in_trace"),
    }
    assert "spot" in ltl.options["versions"]


@pytest.fixture
def interrupted(tmp_path, monkeypatch):
    """The folder of a grid that was interrupted after five cells."""
    append, kept = Journal.append, []

    def interrupt(self, entry):
        append(self, entry)
        kept.append(entry)
        if len(kept) == 5:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Journal, "append", interrupt)
        with pytest.raises(KeyboardInterrupt):
            generate(tmp_path / "half", "copy", *SMALL)
    assert [path.name for path in (tmp_path / "half").iterdir()] == ["grid.journal"]
    return tmp_path / "half"


def test_an_interrupted_grid_goes_on(interrupted, tmp_path, monkeypatch):
    whole = generate(tmp_path / "whole", "copy", *SMALL)
    journal = interrupted / "grid.journal"
    assert len(journal.read_text().splitlines()) == 6
    journal.write_text(journal.read_text()[:-3])  # the last line is not complete
    with pytest.raises(UserError, match="seed 42, not 1"):
        generate(interrupted, "copy", *SMALL, "--seed", 1)
    filled, append = [], Journal.append
    monkeypatch.setattr(
        Journal, "append", lambda self, cell: filled.append(cell) or append(self, cell)
    )
    assert generate(interrupted, "copy", *SMALL, "--workers", 1) == whole
    assert len(filled) == len(whole.cells) - 4 and not journal.exists()


@pytest.mark.parametrize(
    "semantics, options, message",
    [
        ("prop", ["--max-symbols", 21], "change --max-symbols"),
        ("prop", ["--max-length", 101], "change --max-length"),
        ("prop", ["--max-symbols", 0], "no cell"),
    ],
)
def test_what_cannot_be_drawn_is_said(tmp_path, semantics, options, message):
    with pytest.raises(UserError, match=message):
        generate(tmp_path / "x", semantics, *options)
    assert list(tmp_path.iterdir()) == []
