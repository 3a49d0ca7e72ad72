import itertools
import random
import sys

import pytest
import torch
from fake_answerer import FakeAnswerer

from sit_fairseq.domains.formulas.syntax import check_formula, formula_symbols
from sit_fairseq.evaluation import plots
from sit_fairseq.evaluation.cost import (
    PeakMemory,
    cost_series,
    cost_table,
    measure_cost,
    synthetic_sentences,
)

CPU = torch.device("cpu")


@pytest.mark.parametrize("symbols, length", [(1, 1), (1, 9), (3, 5), (4, 8), (20, 39)])
def test_formulas_have_every_symbol_and_the_length(symbols, length):
    names = [f"p{i}" for i in range(symbols)]
    operators = ["!", "&", "0", "xor"]
    sentences = synthetic_sentences(names, operators, length, 5, random.Random(1))
    assert len(sentences) == 5
    for sentence in sentences:
        tokens = sentence.split()
        check_formula(tokens)
        assert sorted(formula_symbols(tokens)) == sorted(names)
        assert len(tokens) == length + (length % 2 == 0)
        assert set(tokens) <= {*names, "&", "xor"}


def test_without_operators_there_are_only_symbols():
    sentences = synthetic_sentences(["a", "b", "c"], ["0", "!"], 7, 4, random.Random(1))
    for sentence in sentences:
        assert len(sentence.split()) == 7 and set(sentence.split()) == set("abc")


def test_median_of_the_repetitions_after_a_first_one():
    # Start and end of: one unmeasured and three measured repetitions, for each count.
    durations = [100.0, 4.0, 2.0, 6.0, 100.0, 8.0, 8.0, 2.0]
    times = list(itertools.accumulate(t for duration in durations for t in (0.0, duration)))
    answerer = FakeAnswerer(lambda source: ["x y", "z"])
    sentences = {5: ["a b c"] * 2, 1: ["a"] * 2}
    result = measure_cost(answerer, sentences, 3, CPU, clock=iter(times).__next__)
    assert list(result) == ["1", "5"]
    assert result["1"]["seconds"] == [2.0, 1.0, 3.0] and result["1"]["median_seconds"] == 2.0
    assert result["5"]["median_seconds"] == 4.0
    assert result["5"]["mean_source_tokens"] == 3.0
    assert result["5"]["mean_answer_tokens"] == 2.0
    rows = cost_table(result)
    assert rows[0][:3] == ["symbols", "ms per sentence", "peak memory (MiB)"]
    assert [row[:2] for row in rows[1:]] == [["1", "2000.00"], ["5", "4000.00"]]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the peak cannot be told")
def test_peak_memory_is_that_since_the_reset():
    memory = PeakMemory(CPU)
    # Much more than Linux may take from an idle process meanwhile.
    block = torch.ones(512 * 2**20, dtype=torch.uint8)
    del block
    assert memory.bytes() > 256 * 2**20
    memory.reset()
    assert memory.bytes() < 256 * 2**20


@pytest.mark.parametrize("peak, shown, drawn", [(3 * 2**20, "3", 2), (None, "unknown", 1)])
def test_unknown_memory_is_shown_as_such(tmp_path, monkeypatch, peak, shown, drawn):
    result = measure_cost(FakeAnswerer(lambda source: ["a"]), {1: ["a"]}, 1, CPU)
    result["1"]["peak_memory"] = peak
    assert cost_table(result)[1][2] == shown
    figures = []
    monkeypatch.setattr(plots, "save_png", lambda figure, path: figures.append(figure))
    plots.draw_cost([1], cost_series(result), "cost.png")
    assert [len(axes.lines) for axes in figures[0].axes] == [1] * drawn
