"""Laws of language models: they compute what the paper says without a source, step by step what they
compute at once, so that nothing depends on later tokens, and the same whatever symbols are called.
"""

import literal
import pytest
import torch
import torch.nn.functional as F
from conftest import make_dictionary
from texts import RENAMED, SORTS, TEXTS, make_language_model, read

from sit_fairseq.errors import UserError

STYLES = {
    "cosine": dict(output_head="cosine", fresh_symbols=5, decoder_normalize_before=False),
    "linear": dict(output_head="linear", fresh_symbols=5, decoder_normalize_before=True),
    "sorts": dict(
        output_head="cosine", fresh_symbols="odd=2,even=4", decoder_normalize_before=False
    ),
}
# Each pattern and each layout in each style, but not all three.
STREAMS = {
    f"{pattern}-{places}-{style}": dict(
        STYLES[style], stream_attention=pattern, stream_places=places
    )
    for turn, pattern in enumerate(("DP", "DP-DA", "DA"))
    for places, style in zip(("all", "own", "read"), [*STYLES, *STYLES][turn:])
}
BASELINES = {
    kind: dict(symbol_embedding=kind, stream_attention="DP") for kind in ("canonical", "recency")
}
INVARIANT = {**STREAMS, **BASELINES}
FIXED = dict(symbol_embedding="fixed", stream_attention="DP")

every_invariant = pytest.mark.parametrize("options", INVARIANT.values(), ids=INVARIANT)


def build(options, **more):
    pattern = SORTS if isinstance(options.get("fresh_symbols"), str) else "[a-p]"
    return make_language_model(make_dictionary(pattern=pattern), **{**options, **more})


def literal_logits(model, options):
    """The oracle's logits, a (T, V_n + R) tensor for each text; all streams are written out."""
    vocabulary = model.vocabulary
    reserved = [sort for sort, most in enumerate(vocabulary.fresh.numbers) for _ in range(most)]
    weights = model.state_dict(keep_vars=True)
    weights["decoder.output_projection.weight"] = weights["decoder.embed_tokens.weight"]
    config = literal.LiteralConfig(
        pattern=options["stream_attention"],
        layers=2,
        heads=3,
        normalize_before=options["decoder_normalize_before"],
        cosine_head=options["output_head"] == "cosine",
        num_sorts=vocabulary.num_sorts,
        own=options["stream_places"] != "all",
        light=options["stream_places"] == "read",
    )
    texts = model.read(read(model)[0]).tolist()
    texts = [[token for token in text if token != vocabulary.dictionary.pad()] for text in texts]
    forward = [
        literal.forward(weights, config, [], text, len(reserved), sorts=reserved) for text in texts
    ]
    return [
        literal.close_reserved(logits, text, vocabulary.num_base, reserved)
        for logits, text in zip(forward, texts)
    ]


@pytest.mark.parametrize("options", STREAMS.values(), ids=STREAMS)
def test_values_and_gradients_are_those_of_the_literal_algorithms_without_a_source(options):
    model = build(options)
    found, scale = model(read(model)[0]), model.decoder.output_scale
    if scale is not None:
        found = found / scale.scale.double()
    totals = [0.0, 0.0]
    for logits, truth in zip(found, literal_logits(model, options)):
        logits, exists = logits[: len(truth)], truth.isfinite()
        torch.testing.assert_close(logits, truth, rtol=1e-10, atol=1e-10)
        weight = torch.randn_like(truth)[exists]
        totals = [t + (weight * part[exists]).sum() for t, part in zip(totals, (logits, truth))]
    names, parameters = zip(*model.named_parameters())
    for name, gradient, truth in zip(names, *(torch.autograd.grad(t, parameters) for t in totals)):
        torch.testing.assert_close(gradient, truth, rtol=1e-10, atol=1e-10)
        assert truth.abs().max() > 1e-6, f"{name} does not take part"


@every_invariant
def test_renamed_texts_have_equal_logits_losses_and_gradients(options):
    model = build(options, dropout=0.2).float().train()

    def measure(texts):
        tokens, targets = read(model, texts)
        torch.manual_seed(1)
        logits = model(tokens)
        target = model.targets(tokens, targets)
        loss = F.cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=1)
        return [logits, loss, *torch.autograd.grad(loss, list(model.parameters()))]

    for one, other in zip(measure(TEXTS), measure(RENAMED)):
        assert torch.equal(one, other)


def test_control_a_model_of_fixed_symbols_tells_names_apart():
    model = build(FIXED)
    names = [text.replace("a", "h") for text in TEXTS]
    one, other = (model(read(model, texts)[0]) for texts in (TEXTS, names))
    assert not torch.allclose(one, other)


@pytest.mark.parametrize("options", [*INVARIANT.values(), FIXED], ids=[*INVARIANT, "fixed"])
def test_steps_equal_teacher_forcing_whatever_beams_do(options):
    """After a beginning that is read at once."""
    model = build(options)
    tokens = read(model)[0]
    context = model.encode(tokens)
    cache, whole, order = model.memory(context), model(tokens), torch.arange(len(tokens))
    for start, end in ((0, 3), (3, 4), (4, 6), (6, 7), (7, 8)):
        found = model.step(model.read(tokens)[order, :end], cache)
        torch.testing.assert_close(found, whole[order, start:end], rtol=1e-12, atol=1e-12)
        new = torch.randint(len(order), (4,)).sort().values
        cache.reorder(new)
        order = order[new]


@every_invariant
def test_a_new_symbol_is_as_likely_as_the_next_slot_of_its_sort(options):
    """And no symbol beyond it can come."""
    model = build(options)
    logits, fresh = model(read(model, ["a b a c"])[0])[0], model.vocabulary.fresh
    open_slots = logits[:, model.vocabulary.num_base :].isfinite()
    if fresh.number == 5:
        assert open_slots.sum(1).tolist() == [1, 2, 3, 3, 4]
    else:  # two odd ones, of which a and c are both, and four even ones
        assert open_slots[:, :2].sum(1).tolist() == [1, 2, 2, 2, 2]
        assert open_slots[:, 2:].sum(1).tolist() == [1, 1, 2, 2, 2]


def test_more_symbols_than_in_training_need_no_other_weights():
    """Where names are numbered there are rows for so many symbols alone."""
    models = [build(dict(fresh_symbols=number)) for number in (2, 12)]
    models[1].load_state_dict(models[0].state_dict())
    logits = models[1](read(models[1], ["a b c d e f g h"])[0])
    assert logits.size(2) == models[1].vocabulary.num_base + 12
    assert bool(logits.softmax(2).isfinite().all())
    few, many = (build({**BASELINES["canonical"], "fresh_symbols": number}) for number in (2, 12))
    with pytest.raises(UserError, match="vectors for 2 symbols"):
        many.load_state_dict(few.state_dict())


def test_recency_is_the_canonical_model_of_a_text_renamed_by_last_use():
    """Token by token: the names of a text move to the front where they are used."""
    model, plain = (build(BASELINES[kind]) for kind in ("recency", "canonical"))
    plain.load_state_dict(model.state_dict())
    (text,) = model.read(read(model, ["a b a a c b ! a d"])[0]).tolist()
    front, codes, numbers = [], [], []
    for token in text:
        slot = token - model.vocabulary.num_base
        if slot >= 0:
            codes.append(front.index(slot) if slot in front else len(front))
            front = [slot, *(other for other in front if other != slot)]
        else:
            codes.append(slot)
        unused = [other for other in range(5) if other not in front]
        numbers.append([[*front, *unused].index(slot) for slot in range(5)])
    assert codes[1:] == [0, 1, 1, 0, 2, 2, 0 - model.vocabulary.num_base + text[7], 2, 3]
    canonical = torch.tensor([codes]) + model.vocabulary.num_base
    expected = plain.decoder(canonical, plain.memory(plain.context(1), keeps=False))
    symbols = expected[..., model.vocabulary.num_base :].gather(2, torch.tensor([numbers]))
    found = model.decoder(torch.tensor([text]), model.memory(model.context(1), keeps=False))
    assert torch.equal(found[..., model.vocabulary.num_base :], symbols)
    assert torch.equal(
        found[..., : model.vocabulary.num_base], expected[..., : model.vocabulary.num_base]
    )


def test_targets_go_on_numbering_where_tokens_begin():
    """A block may begin within a text."""
    model = build(STREAMS["DP-all-cosine"])
    tokens, targets = read(model, ["b a b c a"])
    symbol = model.vocabulary.num_base
    assert model.targets(tokens, targets).tolist() == [
        [symbol, symbol + 1, symbol, symbol + 2, symbol + 1, 2]
    ]
    found = model.targets(tokens[:, 2:5], targets[:, 2:5])
    assert found.tolist() == [[symbol + 1, symbol + 2, symbol]]


def test_texts_that_cannot_be_read_are_told():
    model = build(STREAMS["DP-all-cosine"], max_target_positions=12)
    for text, fault in (
        ("a b c d e", None),
        ("a b c d e f", "holds 6 symbols, more than the 5 of the model"),
        ("& " * 12, "has 12 tokens, more than the 11 that the model reads"),
    ):
        assert model.unreadable(read(model, [text])[1][0]) == fault
    few = make_language_model(make_dictionary(), fresh_names="a,b")
    assert few.unreadable(read(few, ["c a"])[1][0]) == "leaves names for 1 of 3 more symbols"
    sorts = build(STREAMS["DA-all-sorts"])
    assert "3 symbols of the sort odd" in sorts.unreadable(read(sorts, ["a c e b"])[1][0])


@pytest.mark.parametrize("options", [STREAMS["DA-own-cosine"], BASELINES["recency"]])
def test_positions_may_be_given(options):
    """Those without gaps are the usual ones."""
    model = build(options)
    tokens = read(model)[0]
    usual, places = model(tokens), torch.arange(tokens.size(1)).expand_as(tokens)
    torch.testing.assert_close(model(tokens, places), usual, rtol=1e-12, atol=1e-12)
    assert not torch.allclose(model(tokens, 3 * places), usual)
