"""Names never reach the computation: renaming changes nothing but the names (see test_laws.py). Of
rounded models, and controls."""

import pytest
import torch
from conftest import (
    SOURCES,
    SYMBOLS,
    TARGETS,
    make_dictionary,
    make_model,
    make_sample,
    redraw,
)

from sit_fairseq.testing import (
    assert_symbol_invariant,
    renaming,
    training_measure,
)


@pytest.mark.slow
@pytest.mark.parametrize("training, places", [(True, "all"), (True, "own"), (False, "read")])
def test_bfloat16(training, places):
    dictionary = make_dictionary()
    options = dict(dropout=0.2, attention_dropout=0.1, stream_places=places)
    model = redraw(make_model(dictionary, **options).train(training))
    sample = make_sample(dictionary, 8 * SOURCES, 8 * TARGETS)  # enough for rounded products
    measure = training_measure(model)
    cases = {"unseen names": renaming(dictionary, dict(zip(SYMBOLS, "zyxwvuts")))}

    def measure_rounded(sample):
        with torch.autocast("cpu", torch.bfloat16):
            return measure(sample)

    assert_symbol_invariant(measure_rounded, sample, cases, tolerance=0.0)
    rounded, exact = measure_rounded(sample), measure(sample)
    for quantity in ("logits", "gradient of decoder.layers.1.fc1.weight"):
        one, other = rounded[quantity], exact[quantity]
        assert one.dtype == torch.float32 and not torch.equal(one, other)
        finite = other.isfinite()
        assert (one - other)[finite].norm() < 0.1 * other[finite].norm()


@pytest.mark.parametrize("what", ["order", "merged", "base"])
def test_control_other_fresh_symbols_are_no_renaming(what):
    """A fresh symbol that comes again, is one of the source, or does not come again."""
    dictionary = make_dictionary()
    model = redraw(make_model(dictionary, fresh_symbols=3).eval())
    targets = {"order": "a f e f", "merged": "a f a e", "base": "a f 1 e"}
    measure = training_measure(model)
    losses = [
        measure(make_sample(dictionary, ["! a"], [target]))["loss"]
        for target in ("a f e e", targets[what], "a g h h")
    ]
    assert abs(losses[0] - losses[1]) > 1e-3 and losses[0] == losses[2]


@pytest.mark.parametrize("sources", [["& a b"], ["| a a"]], ids=["operator", "merged"])
def test_other_sentences_differ(sources):
    """Neither another operator nor a merged symbol is a renaming of ``| a b``."""
    dictionary = make_dictionary()
    model = make_model(dictionary).eval()
    measure = training_measure(model)
    losses = [measure(make_sample(dictionary, s, ["a 1"]))["loss"] for s in (["| a b"], sources)]
    assert abs(losses[0] - losses[1]) > 1e-3
