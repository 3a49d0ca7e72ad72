"""Names never reach the computation: renaming changes nothing but the names (see test_laws.py).

Of trained and rounded models, of modules, and controls that must fail.
"""

from argparse import Namespace
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from conftest import (
    SOURCES,
    SYMBOLS,
    TARGETS,
    encode,
    make_dictionary,
    make_model,
    make_sample,
    redraw,
)
from fairseq.models.transformer import TransformerModel, base_architecture

from sit_fairseq.symbols.slots import Slots
from sit_fairseq.tasks.generators import StreamSequenceGenerator
from sit_fairseq.testing import (
    assert_symbol_invariant,
    invariance_error,
    rename,
    renaming,
    renamings,
    training_measure,
)

UNSEEN = dict(zip(SYMBOLS, "zyxwvuts"))


def all_cases(dictionary):
    cases = renamings(dictionary, SYMBOLS)
    cases["unseen names"] = renaming(dictionary, UNSEEN)
    return cases


def train(model, sample, steps=3):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    measure = training_measure(model)
    for _ in range(steps):
        found = measure(sample)
        for name, parameter in model.named_parameters():
            parameter.grad = found[f"gradient of {name}"]
        optimizer.step()


@pytest.mark.slow
@pytest.mark.parametrize(
    "training, places", [(False, "all"), (True, "all"), (True, "own"), (False, "read")]
)
def test_bfloat16(training, places):
    dictionary = make_dictionary()
    options = dict(dropout=0.2, attention_dropout=0.1, stream_places=places)
    model = redraw(make_model(dictionary, **options).train(training))
    sample = make_sample(dictionary, 8 * SOURCES, 8 * TARGETS)  # enough for rounded products
    measure, cases = training_measure(model), all_cases(dictionary)

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


def test_training_on_renamed_data_gives_the_same_weights():
    dictionary = make_dictionary()
    model, twin = make_model(dictionary), make_model(dictionary)
    twin.load_state_dict(model.state_dict())
    sample = make_sample(dictionary)
    initial = model.encoder.layers[0].fc1.weight.clone()
    train(model, sample)
    train(twin, rename(sample, renaming(dictionary, UNSEEN)))
    assert not torch.equal(model.encoder.layers[0].fc1.weight, initial)
    for (name, weight), other in zip(model.named_parameters(), twin.parameters()):
        assert torch.equal(weight, other), name


@pytest.mark.slow
@pytest.mark.parametrize("rounded", [False, True])
def test_answers_of_a_trained_model_are_renamed(rounded):
    dictionary = make_dictionary()
    model, sample = make_model(dictionary), make_sample(dictionary)
    train(model, sample, steps=12)  # until symbols are produced
    if rounded:  # enough sentences for products in bfloat16
        sample = make_sample(dictionary, 8 * SOURCES, 8 * TARGETS)
    generator = StreamSequenceGenerator([model], dictionary, beam_size=4, max_len_b=8)
    symbols = torch.tensor([dictionary.index(symbol) for symbol in SYMBOLS])

    def measure(sample):
        found = {}
        with torch.autocast("cpu", torch.bfloat16, enabled=rounded):
            answers = generator.generate([model], sample)
        for row, hypotheses in enumerate(answers):
            for rank, hypothesis in enumerate(hypotheses):
                for key in ("tokens", "score", "positional_scores"):
                    found[f"{key} {rank} of sentence {row}"] = hypothesis[key]
        return found

    produced = torch.cat([v for k, v in measure(sample).items() if k.startswith("tokens")])
    assert torch.isin(produced, symbols).any()
    assert_symbol_invariant(measure, sample, all_cases(dictionary), tolerance=0.0)


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


def test_control_fresh_symbols_by_name_fail(monkeypatch):
    """Reserved slots in the order of the dictionary instead of that in the target."""
    dictionary = make_dictionary()
    model = redraw(make_model(dictionary, fresh_symbols=8).eval())
    encode_rightly = Slots.encode

    def encode_by_name(slots, tokens):
        canonical, first = encode_rightly(slots, tokens), slots.first_reserved.unsqueeze(1)
        return torch.where(canonical >= first, first + tokens % 8, canonical)

    monkeypatch.setattr(Slots, "encode", encode_by_name)
    sample = make_sample(dictionary, ["& a b"], ["g f a"])
    cases = {"fresh": renaming(dictionary, {"f": "g", "g": "f"})}
    with pytest.raises(AssertionError, match="under the renaming 'fresh'"):
        assert_symbol_invariant(training_measure(model), sample, cases, tolerance=0.0)
    monkeypatch.undo()
    assert_symbol_invariant(training_measure(model), sample, cases, tolerance=0.0)


def test_reserved_slots_leave_weights_and_other_sentences_alone():
    """They add no weight; a model that had none is what it was, to the last bit, in the names of
    its weights too."""
    dictionary = make_dictionary()
    plain, reserving = make_model(dictionary), make_model(dictionary, fresh_symbols=3)
    reserving.load_state_dict(plain.state_dict())
    assert plain.state_dict().keys() == reserving.state_dict().keys()
    sample = make_sample(dictionary)
    expected = training_measure(plain)(sample)
    reserving.vocabulary.fresh_symbols, reserving.vocabulary.fresh = 0, None
    found = training_measure(reserving)(sample)
    assert all(torch.equal(expected[name], found[name]) for name in expected)


def test_control_bias_by_name_fails():
    dictionary = make_dictionary()
    model = make_model(dictionary).eval()
    favoured, encode_rightly = dictionary.index("a"), model.encode

    def favour(*tokens):
        source = encode_rightly(*tokens)
        streams, names = source.streams, source.slots.names
        chosen = names[streams.sentence].gather(1, streams.slot.unsqueeze(1)).eq(favoured)
        return replace(source, states=source.states + 0.1 * chosen.unsqueeze(2))

    sample, cases = make_sample(dictionary), all_cases(dictionary)
    assert max(invariance_error(training_measure(model), sample, cases).values()) == 0
    model.encode = favour
    with pytest.raises(AssertionError, match="under the renaming 'swap'"):
        assert_symbol_invariant(training_measure(model), sample, cases)


@pytest.mark.parametrize("sources", [["& a b"], ["| a a"]], ids=["operator", "merged"])
def test_other_sentences_differ(sources):
    """Neither another operator nor a merged symbol is a renaming of ``| a b``."""
    dictionary = make_dictionary()
    model = make_model(dictionary).eval()
    measure = training_measure(model)
    losses = [measure(make_sample(dictionary, s, ["a 1"]))["loss"] for s in (["| a b"], sources)]
    assert abs(losses[0] - losses[1]) > 1e-3


def test_a_measure_must_rename_tokens():
    """Integer results are compared after renaming, so one that keeps a name fails."""
    dictionary = make_dictionary()
    cases = {"unseen names": renaming(dictionary, UNSEEN)}
    tokens = encode(dictionary, ["& a b"])
    assert_symbol_invariant(lambda x: {"tokens": x}, tokens, cases)
    with pytest.raises(AssertionError, match="tokens .torch.int64. changes"):
        assert_symbol_invariant(lambda x: {"tokens": tokens}, tokens, cases)
    with pytest.raises(AssertionError, match="inf"):
        assert_symbol_invariant(lambda x: {"odd": x[x > 5].float()}, tokens, cases)


def test_control_plain_transformer_fails():
    dictionary = make_dictionary()
    args = Namespace(
        encoder_layers=1,
        decoder_layers=1,
        encoder_embed_dim=16,
        encoder_ffn_embed_dim=16,
        encoder_attention_heads=2,
        share_all_embeddings=True,
        max_source_positions=64,
        max_target_positions=64,
    )
    base_architecture(args)
    task = SimpleNamespace(source_dictionary=dictionary, target_dictionary=dictionary)
    measure = training_measure(TransformerModel.build_model(args, task).eval())
    sample, cases = make_sample(dictionary), renamings(dictionary, SYMBOLS)
    errors = invariance_error(measure, sample, cases)
    assert errors["identity", "loss"] == 0 and errors["swap", "loss"] > 1e-3
    with pytest.raises(AssertionError, match=r"float32.* under the renaming 'swap'"):
        assert_symbol_invariant(measure, sample, cases)
