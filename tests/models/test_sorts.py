"""Several sorts of symbols: each may be renamed within its sort, none into another."""

import random

import pytest
import torch
from conftest import encode, make_dictionary, make_model, make_sample, redraw
from searches import build, generate

from sit_fairseq.symbols.renaming import Renaming
from sit_fairseq.symbols.slots import Slots
from sit_fairseq.testing import invariance_error, training_measure

SORTS = {"table": "T", "column": "c", "value": "v", "alias": "s"}
PATTERN = "\n".join(f"{sort}={letter}\\d+" for sort, letter in SORTS.items())
SYMBOLS = [f"{letter}{number}" for letter in SORTS.values() for number in range(8)]
BASE = ("select", "from", "where", "0", "1")


def dictionary(pattern=PATTERN):
    return make_dictionary(SYMBOLS, BASE, pattern)


def sentence(rng, length, sorts="Tcvs"):
    """Tokens of which most are symbols, of all these sorts."""
    words = [*BASE, *(s for s in SYMBOLS if s[0] in sorts)]
    return " ".join(rng.choices(words, [3] * len(BASE) + [1] * (len(words) - len(BASE)), k=length))


ROPE = dict(encoder_positions="rope")


def test_control_a_renaming_across_sorts_is_refused_and_changes_the_problem():
    words = dictionary()
    with pytest.raises(
        ValueError, match="'T0' cannot be renamed to 'c7', which is of another sort"
    ):
        Renaming({"T0": "c7", "c7": "T0"}).table(words)
    # The same exchange of indices, made by force.
    table = torch.arange(len(words))
    here, there = words.index("T0"), words.index("c7")
    table[[here, there]] = torch.tensor([there, here])
    model = build(words, **ROPE)
    sources = ["select T0 from T1 c7 c1", "T0 c0 where T2"]
    sample = make_sample(words, sources, ["T0 c7", "T0"])
    errors = invariance_error(training_measure(model), sample, {"across": table})
    assert errors["across", "loss"] > 1e-3


def test_each_sort_has_two_rows_and_a_class():
    for sorts in range(1, 5):
        pattern = "\n".join(PATTERN.split("\n")[:sorts])
        words = make_dictionary([s for s in SYMBOLS if s[0] in "Tcvs"[:sorts]], BASE, pattern)
        model = make_model(words, **ROPE)
        table = model.encoder.embed_tokens
        assert table.weight.size(0) == model.vocabulary.num_base + 2 * sorts
        assert table.num_classes == model.vocabulary.num_base + sorts
        tokens = encode(words, ["select " + words.known_symbols()[0]])
        assert generate([model], words, {"net_input": {"src_tokens": tokens}})


def logits(words, sources):
    """Of a model of one seed."""
    torch.manual_seed(1)
    model = redraw(make_model(words, **ROPE)).eval()
    return model(**make_sample(words, sources, sources)["net_input"])[0]


def test_one_sort_with_a_name_computes_what_one_without_does():
    sources = [sentence(random.Random(seed), 9, "c") for seed in range(3)]
    symbols = [s for s in SYMBOLS if s[0] == "c"]
    patterns = (r"c\d+", r"column=c\d+")
    assert torch.equal(*(logits(make_dictionary(symbols, BASE, p), sources) for p in patterns))


def test_sorts_are_told_apart_where_names_are_not():
    """The same words, symbols of two sorts or of one."""
    sources = ["T0 c0 T0 c1", "T1 c0 select c1"]
    two, one = (logits(dictionary(pattern), sources) for pattern in (PATTERN, r"[Tcvs]\d+"))
    assert float((two - one).abs().nan_to_num()[:, :, 2].max()) > 1e-3


@pytest.mark.parametrize("names, expected", [("c7,s5,c6", ["c7", "c6", "s5"]), (None, None)])
def test_names_of_fresh_symbols_go_to_their_sorts(names, expected):
    words = make_dictionary(["T0", "c0"], BASE, PATTERN)
    vocabulary = make_model(
        words, fresh_symbols="column=2,alias=1", fresh_names=names, **ROPE
    ).vocabulary
    named = Slots(vocabulary, encode(words, ["T0 c0"])[:, :2]).named()
    slots = [words[index] for index in named.every[0].tolist()]
    assert slots == ["T0", "c0", *(expected or ["column0", "column1", "alias0"])]
