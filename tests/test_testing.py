"""The test of invariance cannot pass without having tested anything."""

import pytest
import torch
from conftest import SYMBOLS, encode, make_dictionary, make_sample

from sit_fairseq.testing import (
    assert_symbol_invariant,
    invariance_error,
    number_fresh,
    rename,
    renaming,
    renamings,
)


def names_matter(tokens):
    """A measure that is not invariant."""
    return {"sum": tokens.float().sum(1)}


@pytest.mark.parametrize("symbols", ["", "a", "aba"])
def test_too_few_symbols_to_rename_anything(symbols):
    with pytest.raises(ValueError, match="at least two symbols"):
        renamings(make_dictionary(), list(symbols))


@pytest.mark.parametrize("test", [assert_symbol_invariant, invariance_error])
def test_samples_that_no_renaming_changes(test):
    dictionary = make_dictionary()
    cases = renamings(dictionary, ["a", "b", "c"])
    with pytest.raises(ValueError, match="none of the renamings changes the sample"):
        test(names_matter, encode(dictionary, ["& d e", "! 1"]), cases)
    with pytest.raises(ValueError, match="none of the renamings changes the sample"):
        test(names_matter, encode(dictionary, ["& a b"]), {"identity": cases["identity"]})
    sample = make_sample(dictionary, ["! 0"], ["1"])
    with pytest.raises(ValueError, match="none of the renamings changes the sample"):
        test(lambda sample: names_matter(sample["target"]), sample, cases)


def test_a_measure_of_nothing_proves_nothing():
    dictionary = make_dictionary()
    sample = encode(dictionary, ["! b"]), renamings(dictionary, SYMBOLS)
    for measure in (lambda tokens: {}, lambda tokens: tokens):
        with pytest.raises(ValueError, match="no tensors by name"):
            assert_symbol_invariant(measure, *sample)


def test_what_is_not_invariant_fails():
    dictionary = make_dictionary()
    with pytest.raises(AssertionError, match="sum .* changes by"):
        assert_symbol_invariant(
            names_matter, encode(dictionary, ["! b"]), renamings(dictionary, SYMBOLS)
        )


def test_source_and_target_of_a_sample_are_renamed_and_nothing_else():
    dictionary = make_dictionary()
    sample, renamed = make_sample(dictionary), rename(
        make_sample(dictionary), renaming(dictionary, {"a": "b", "b": "a"})
    )
    expected = make_sample(
        dictionary,
        ["! 0", "& b ! b", "<-> | d a & a ! d", "xor & c b | ! h a"],
        ["1", "b 1", "a 0 d 1", "b 0 a 1 c 1 h 0"],
    )
    assert torch.equal(renamed["target"], expected["target"])
    for name in ("src_tokens", "prev_output_tokens", "src_lengths"):
        assert torch.equal(renamed["net_input"][name], expected["net_input"][name])
    assert torch.equal(renamed["id"], sample["id"]) and renamed["ntokens"] == sample["ntokens"]


def test_answers_are_compared_up_to_the_names_of_fresh_symbols():
    """Whatever a source lacks gets the first name that it leaves; another order is no renaming."""
    dictionary = make_dictionary()
    cases = {"swap": renaming(dictionary, {"a": "c", "c": "a"})}

    def answer(order):
        def measure(source):
            names = [s for s in SYMBOLS if dictionary.index(s) not in source[0].tolist()]
            text = " ".join([dictionary[int(source[0, 1])], *(names[number] for number in order)])
            tokens = encode(dictionary, [text])[0]
            return {"names": tokens, "numbers": number_fresh(tokens, source[0], dictionary)}

        return measure

    source = encode(dictionary, ["! a"])
    errors = invariance_error(answer([0, 1, 0]), source, cases)
    assert errors["swap", "names"] > 0 and errors["swap", "numbers"] == 0
    assert answer([0, 1, 0])(source)["numbers"].tolist()[1:4] == [-1, -2, -1]
    merged = {"swap": cases["swap"]}
    errors = invariance_error(answer([0, 1, 0]), source, merged, answer([0, 1, 1]))
    assert errors["swap", "numbers"] > 0
