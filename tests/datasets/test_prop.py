"""The generator of propositional data, run as users run it."""

import os
import subprocess
import sys
from collections import Counter
from itertools import islice
from pathlib import Path

import pytest
from command_line import ROOT, sit

from sit_fairseq.datasets.prop import PropRecipe, draw_formulas
from sit_fairseq.errors import UserError
from sit_fairseq.judging.prop_judges import BitsJudge
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.logic.depth_first import depth_first_answer
from sit_fairseq.logic.propositional import is_contingent, smallest_assignment, truth_table
from sit_fairseq.logic.syntax import formula_symbols
from sit_fairseq.symbols.canonical_form import canonical_form


def generate(prefix, *options):
    """Runs the verb in this process, which saves importing fairseq again."""
    sit("generate", "prop", prefix, *options)


def run_command(prefix, *options):
    """Runs the verb as a command; the result has returncode, stdout and stderr."""
    return subprocess.run(
        [sys.executable, "-m", "sit_fairseq", "generate", "prop", str(prefix), *map(str, options)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )


def read(prefix):
    """The lines of PREFIX.src and PREFIX.tgt."""
    return [Path(f"{prefix}.{end}").read_text().splitlines() for end in ("src", "tgt")]


def forms(prefix):
    """The formulas of PREFIX.src up to renaming."""
    formulas = [line.split() for line in read(prefix)[0]]
    return {canonical_form(tokens, formula_symbols(tokens)) for tokens in formulas}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A data set of 3000 samples and what the command said."""
    prefix = tmp_path_factory.mktemp("prop") / "sub" / "train"
    result = run_command(prefix, "--size", 3000, "--workers", 2)
    assert result.returncode == 0, result.stderr
    return prefix, result


def test_samples_are_distinct_right_and_smallest(data):
    sources, targets = read(data[0])
    assert len(sources) == len(targets) == len(forms(data[0])) == 3000
    judge = BitsJudge()
    for source, target in zip(sources, targets):
        formula, answer = source.split(), target.split()
        assert source == " ".join(formula) and target == " ".join(answer)
        assert judge.verify(source, target) is Verdict.satisfied
        assert judge.verify(source, "") is Verdict.violated  # no tautology
        symbols = formula_symbols(formula)
        literals = smallest_assignment(truth_table(formula, symbols), len(symbols))
        assert answer == [t for j, value in literals for t in (symbols[j], str(value))]
        for i in range(0, len(answer), 2):  # every literal is needed
            less = " ".join(answer[:i] + answer[i + 2 :])
            assert judge.verify(source, less) is Verdict.violated


def test_lengths_are_uniform_once_there_are_enough_formulas(data):
    lengths = Counter(len(source.split()) for source in read(data[0])[0])
    assert set(lengths) == set(range(1, 36))
    assert lengths[1] == lengths[2] == 1  # all there are, up to renaming: a, ! a
    assert all(55 < lengths[length] < 140 for length in range(6, 36)), lengths


def test_summary(data):
    sources = read(data[0])[0]
    lengths = Counter(len(source.split()) for source in sources).values()
    assert "3000 samples" in data[1].stdout
    assert f"{min(lengths)} (length" in data[1].stdout
    assert f"{max(lengths)} (length" in data[1].stdout
    assert sorted(path.name for path in data[0].parent.iterdir()) == ["train.src", "train.tgt"]


def test_number_of_workers_does_not_matter_and_the_seed_does(data, tmp_path):
    generate(tmp_path / "one", "--size", 3000, "--workers", 1)
    assert read(tmp_path / "one") == read(data[0])
    generate(tmp_path / "other", "--size", 3000, "--seed", 43)
    assert read(tmp_path / "other") != read(data[0])


def test_exclude(data, tmp_path, capsys):
    options = ["--size", 300, "--max-length", 6, "--seed", 1]
    generate(tmp_path / "all", *options)
    assert " 0 excluded" in capsys.readouterr().out
    train, test = forms(data[0]), forms(tmp_path / "all")
    assert train & test  # without the option they overlap
    names = ["--symbols", "v,w,x,y,z"]  # not a line of it is in the others
    generate(tmp_path / "new", *options, *names, "--exclude", data[0], tmp_path / "all.src")
    assert " 0 excluded" not in capsys.readouterr().out
    new = forms(tmp_path / "new")
    assert len(new) == 300
    assert not new & train and not new & test


def test_different_symbols(tmp_path):
    options = ["--size", 2000, "--max-length", 12]
    generate(tmp_path / "some", *options, "--symbols", 6, "--distinct-symbols", "4-5")
    sources, targets = read(tmp_path / "some")
    assert len(forms(tmp_path / "some")) == 2000
    assert {len(set(source.split()) & set("abcdef")) for source in sources} == {4, 5}
    lengths = Counter(len(source.split()) for source in sources)
    assert set(lengths) == set(range(7, 13))
    # As many of each length (about 350 +- 4 sigma), as far as there are so many.
    assert all(275 < lengths[length] < 425 for length in range(9, 13)), lengths
    letters = Counter(token for source in sources for token in source.split() if token in "abcdef")
    assert max(letters.values()) < 1.1 * min(letters.values())
    judge = BitsJudge()
    assert all(judge.verify(*pair) is Verdict.satisfied for pair in zip(sources, targets))
    generate(tmp_path / "one", "--size", 20, "--symbols", 3, "--distinct-symbols", 1)
    assert all(len(set(source.split()) & set("abc")) == 1 for source in read(tmp_path / "one")[0])


def test_different_symbols_do_not_change_the_distribution_otherwise():
    """Against the generator without the option, of whose formulas the others are dropped."""
    common = dict(symbols=("a", "b", "c"), min_length=5, max_length=5, seed=1, labels="smallest")
    some, free = (PropRecipe(distinct=distinct, **common) for distinct in ((2, 3), None))

    def drawn(recipe):
        for number in range(10**6):
            for source, _ in draw_formulas(recipe, number):
                if len(set(source.split()) & set("abc")) > 1:
                    yield source

    first, second = (Counter(islice(drawn(recipe), 20000)) for recipe in (some, free))
    keys = first | second
    statistic = sum((first[key] - second[key]) ** 2 / (first[key] + second[key]) for key in keys)
    assert len(keys) > 500
    assert statistic < len(keys) + 4 * (2 * len(keys)) ** 0.5


def test_symbol_names(tmp_path):
    generate(tmp_path / "names", "--symbols", "f,go,h", "--size", 200)
    words = set(" ".join(read(tmp_path / "names")[0]).split())
    assert words == {"f", "go", "h", "0", "1", "!", "&", "|", "<->", "xor"}
    generate(tmp_path / "many", "--symbols", 200, "--size", 200)
    words = set(" ".join(read(tmp_path / "many")[0]).split())
    names = {f"p{i}" for i in range(200)}
    assert words <= names | {"0", "1", "!", "&", "|", "<->", "xor"}
    assert len(words & names) > 190  # about 2000 leaves were drawn


def test_labels_are_depth_first_if_asked_for(data, tmp_path):
    generate(tmp_path / "first", "--size", 3000, "--labels", "depth-first")
    sources, targets = read(tmp_path / "first")
    old_sources, old_targets = read(data[0])
    assert sources == old_sources and targets != old_targets
    assert targets == [depth_first_answer(source.split()) for source in sources]
    judge = BitsJudge()
    assert all(judge.verify(*pair) is Verdict.satisfied for pair in zip(sources, targets))


def test_labels_of_the_earlier_work(tmp_path):
    generate(tmp_path / "aiger", "--size", 40, "--max-length", 8, "--labels", "aiger")
    for source, target in zip(*read(tmp_path / "aiger")):
        assert BitsJudge().verify(source, target) is Verdict.satisfied
        symbols = target.split()[::2]
        assert symbols and symbols == sorted(symbols)


@pytest.mark.parametrize(
    "options, words",
    [
        (["--symbols", "2", "--max-length", "3"], ["only 21 samples", "--size 5000"]),
        (["--symbols", "a,U"], ["'U'", "--symbols"]),
        (["--symbols", "a,xor"], ["'xor'", "--symbols"]),
        (["--symbols", "a,1"], ["'1'", "--symbols"]),
        (["--symbols", "a,b c"], ["'b c'", "--symbols"]),
        (["--symbols", "a,b,a"], ["twice", "--symbols"]),
        (["--symbols", "0"], ["at least one", "--symbols", "tautology"]),
        (["--min-length", "9", "--max-length", "8"], ["--min-length 9"]),
        (["--size", "0"], ["--size 0"]),
        (["--symbols", "50", "--max-length", "99"], ["50 symbols", "--max-length to 40"]),
        (["--exclude", "nowhere"], ["nowhere.src"]),
        (["--distinct-symbols", "4", "--max-length", "3"], ["--distinct-symbols 4", "at most 2"]),
        (["--distinct-symbols", "4-6"], ["--distinct-symbols 4-6", "--symbols 5"]),
        (["--distinct-symbols", "0-2"], ["--distinct-symbols 0-2", "from 1 on"]),
        (["--distinct-symbols", "3-2"], ["--distinct-symbols 3-2", "4-5"]),
        (["--distinct-symbols", "two"], ["--distinct-symbols two", "4-5"]),
        (["--distinct-symbols", "2", "--max-length", "101"], ["--max-length 101", "at most 100"]),
    ],
)
def test_mistakes_are_told(tmp_path, options, words):
    with pytest.raises(UserError) as error:
        generate(tmp_path / "x", "--size", 5000, *options)
    assert all(word in str(error.value) for word in words), error.value
    assert list(tmp_path.iterdir()) == []  # nothing half done


def test_mistakes_end_the_command_in_one_sentence(tmp_path):
    result = run_command(tmp_path / "x", "--size", 0)
    assert result.returncode == 1
    assert "--size 0" in result.stderr.strip().splitlines()[-1]
    assert "Traceback" not in result.stderr


def test_the_exhausted_space_was_really_exhausted():
    names = ["a", "b", "0", "1"]
    formulas = [[leaf] for leaf in names] + [["!", leaf] for leaf in names]
    formulas += [["!", "!", leaf] for leaf in names]
    formulas += [[op, x, y] for op in ("&", "|", "<->", "xor") for x in names for y in names]
    contingent = {
        canonical_form(formula, formula_symbols(formula))
        for formula in formulas
        if is_contingent(formula)
    }
    assert len(contingent) == 21
