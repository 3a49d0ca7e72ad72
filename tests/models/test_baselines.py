"""The baselines are this model with one stream per sentence, and nothing else."""

import pytest
import torch
from conftest import SYMBOLS, encode, make_dictionary, make_model, make_sample, redraw

from sit_fairseq.errors import UserError
from sit_fairseq.search.fairseq_generator import StreamSequenceGenerator
from sit_fairseq.testing import (
    assert_symbol_invariant,
    invariance_error,
    renaming,
    renamings,
    training_measure,
)

BASELINES = ("fixed", "canonical", "random")


def build(kind, dictionary=None, **options):
    options = {"stream_attention": "EP-DP-CP", "symbol_code_dim": 6, **options}
    return make_model(dictionary, symbol_embedding=kind, **options)


def redrawn(kind, dictionary=None, **options):
    return redraw(build(kind, dictionary, **options)).eval()


@pytest.mark.parametrize("training", [False, True], ids=["eval", "train"])
def test_canonical_is_invariant(training):
    dictionary = make_dictionary()
    model = redrawn("canonical", dictionary, dropout=0.2).train(training)
    cases = renamings(dictionary, SYMBOLS)
    cases["unseen names"] = renaming(dictionary, dict(zip(SYMBOLS, "zyxwvuts")))
    assert_symbol_invariant(training_measure(model), make_sample(dictionary), cases, tolerance=0.0)


@pytest.mark.parametrize("kind", ["fixed", "random"])
def test_names_matter_to_the_others(kind):
    dictionary = make_dictionary()
    model, sample = redrawn(kind, dictionary), make_sample(dictionary)
    measure, cases = training_measure(model), renamings(dictionary, SYMBOLS, count=3)
    with pytest.raises(AssertionError, match="changes by"):
        assert_symbol_invariant(measure, sample, cases)
    errors = invariance_error(measure, sample, cases)
    assert errors["swap", "loss"] > 1e-3 and errors["identity", "loss"] == 0


def test_symbols_in_another_order_are_other_symbols_to_canonical():
    """The model can tell the first symbol from the second."""
    dictionary = make_dictionary()
    model = redrawn("canonical", dictionary)
    losses = [
        training_measure(model)(make_sample(dictionary, ["& a b"], [target]))["loss"]
        for target in ("a 1 b 0", "b 1 a 0")
    ]
    assert abs(losses[0] - losses[1]) > 1e-3


@pytest.mark.parametrize("kind", BASELINES)
@pytest.mark.parametrize("head", ["cosine", "linear"])
def test_steps_equal_teacher_forcing(kind, head):
    dictionary = make_dictionary()
    model = redrawn(kind, dictionary, output_head=head).double()
    net_input = make_sample(dictionary)["net_input"]
    expected = model(**net_input)[0]
    source = model.encode(net_input["src_tokens"])
    tokens = source.slots.encode(net_input["prev_output_tokens"])
    cache = model.new_cache(source)
    for step in range(tokens.size(1)):
        found = model.step(tokens[:, : step + 1], cache)[:, 0]
        real = tokens[:, step] != dictionary.pad()
        torch.testing.assert_close(found[real], expected[real, step], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("kind", BASELINES)
def test_beam_search_with_more_candidates_than_columns(kind):
    dictionary = make_dictionary()
    model, sample = redrawn(kind, dictionary), make_sample(dictionary)
    generator = StreamSequenceGenerator([model], dictionary, beam_size=25, max_len_b=3)
    for hypotheses in generator.generate([model], sample):
        assert len(hypotheses) > 20
        tokens = torch.cat([hypothesis["tokens"] for hypothesis in hypotheses])
        assert int(tokens.max()) < len(dictionary)


def symbols_that_can_be_produced(model, source, target):
    """The tokens that columns with a finite logit stand for, of one sentence."""
    dictionary = model.vocabulary.dictionary
    logits, extra = model(**make_sample(dictionary, [source], [target])["net_input"])
    columns = logits[0, 0].isfinite().nonzero().squeeze(1)
    tokens = extra["slots"].named().decode(columns, 0).tolist()
    return {token for token in map(dictionary.__getitem__, tokens) if dictionary.is_symbol(token)}


@pytest.mark.parametrize("kind", ["fixed", "random"])
def test_any_symbol_of_the_dictionary_can_be_produced(kind):
    assert symbols_that_can_be_produced(build(kind), "! a", "a 0") == set(SYMBOLS)


def test_symbols_beyond_the_canonical_rows_cannot_be_produced():
    model = build("canonical", make_dictionary("ab"))
    assert symbols_that_can_be_produced(model, "& & v w & x y", "v 1 w 1") == {"v", "w"}
    generator = StreamSequenceGenerator([model], model.vocabulary.dictionary, beam_size=2)
    sample = make_sample(model.vocabulary.dictionary, ["& & v w & x y"], ["v 1 w 1"])
    assert len(generator.generate([model], sample)[0]) == 2


@pytest.mark.parametrize("kind", BASELINES)
def test_state_goes_into_a_model_for_another_dictionary(kind):
    """Rows and codes are addressed by name, not by the order of dict.txt."""
    dictionary = make_dictionary()
    other = make_dictionary(list("hgfedcba"), ["1", "0", "xor", "<->", "|", "&", "!"], None)
    model = redrawn(kind, dictionary, symbol_code_dim=16)
    twin = build(kind, other, symbol_code_dim=16)
    state = model.state_dict()
    twin.load_state_dict(state)
    assert twin.state_dict().keys() == state.keys()
    twin.eval()
    sources, targets = ["& a | b h", "! 0"], ["h 1 a 0", "1"]
    found, expected = (
        training_measure(m)(make_sample(m.vocabulary.dictionary, sources, targets))["loss"]
        for m in (twin, model)
    )
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=0)


def test_fixed_is_the_stream_model_where_there_is_one_stream():
    """With at most one symbol, whose row is *actual*, both compute the same."""
    dictionary = make_dictionary()
    fixed = redrawn("fixed", dictionary)
    streams = make_model(dictionary, stream_attention="EP-DP-CP").eval()
    state = fixed.state_dict()
    rows = dict(zip(dictionary.symbols[:4] + dictionary.own_tokens(), range(99)))
    base = [rows[token] for token in dictionary.symbols[:4] + dictionary.base_tokens()]
    for side in ("encoder", "decoder"):
        name = f"{side}.embed_tokens"
        state[f"{name}.weight"] = state[f"{name}.weight"][[*base, rows["a"], rows["b"]]]
        state[f"{name}.vocabulary.base_tokens"] = streams.vocabulary.base_tokens
        state[f"{name}.vocabulary.source_only"] = streams.vocabulary.source_only
    streams.load_state_dict(state)
    sources, targets = ["! 0", "& a ! a", "xor a 1"], ["1", "a 1", "a 0"]
    sample = make_sample(dictionary, sources, targets)
    expected = streams(**sample["net_input"])[0]
    found = fixed(**sample["net_input"])[0][:, :, [*base, rows["a"]]]
    missing = expected.isinf()
    length = missing.size(1)
    assert bool(missing[0, :, -1].all()) and bool(missing[:, :, [0, 1, 3]].all())
    assert int(missing.sum()) == length + 3 * 3 * length
    torch.testing.assert_close(found[~missing], expected[~missing], rtol=1e-4, atol=1e-5)


def test_ensembles_of_one_kind_only():
    dictionary = make_dictionary()
    models = [build(kind, dictionary) for kind in BASELINES] + [make_model(dictionary)]
    for one in models:
        for other in models:
            if one is not other:
                with pytest.raises(UserError, match="another kind of symbols"):
                    StreamSequenceGenerator([one, other], dictionary)
    both = [redrawn("random", dictionary), redrawn("random", dictionary)]
    generator = StreamSequenceGenerator(both, dictionary, beam_size=2, max_len_b=5)
    assert len(generator.generate(both, make_sample(dictionary))) == 4


def test_the_decoder_embeds_with_the_codes_of_its_own_batch():
    """In training each batch has others."""
    dictionary = make_dictionary()
    model = build("random", dictionary, dropout=0.0).train()
    net_input = make_sample(dictionary)["net_input"]
    one, other = (model.encode(net_input["src_tokens"]) for _ in range(2))
    assert not torch.equal(one.target_table.matrix, other.target_table.matrix)
    assert len(set(map(id, model.tables()))) == 1  # encoder, decoder and projection
    previous = net_input["prev_output_tokens"]
    logits = model.decode(previous, one)
    assert torch.equal(model.decode(previous, one), logits)
    assert not torch.equal(model.decode(previous, other), logits)


def test_scaled_cosine_embedding():
    dictionary = make_dictionary()
    tokens = encode(dictionary, ["! 0"])
    for scaled, norm in ((False, 1.0), (True, 24**0.5)):
        model = make_model(dictionary, scale_cosine_embedding=scaled)
        canonical, slots = model.read(tokens)
        table = model.encoder.embed_tokens.table()
        found = table.embed(canonical, slots.streams())
        torch.testing.assert_close(found.norm(dim=2), torch.full((1, 3), norm))
