"""The baselines are this model with one stream per sentence, and other vectors of symbols."""

import pytest
import torch
import torch.nn.functional as F
from conftest import SYMBOLS, encode, make_dictionary, make_model, make_sample, redraw
from searches import generate

from sit_fairseq.domains.formulas.syntax import ARITY
from sit_fairseq.errors import UserError
from sit_fairseq.models.all_places import AllPlaces
from sit_fairseq.models.baselines import random_codes
from sit_fairseq.tasks.generators import StreamSequenceGenerator

BASELINES = ("fixed", "canonical", "random")
# Base tokens by their rows, after the four special tokens; and with the symbols.
BASE = ["!", "&", "0", "1", "<->", "xor", "|"]
FIXED = sorted([*BASE, *SYMBOLS])
D = 6


def build(kind, dictionary=None, **options):
    options = {"stream_attention": "EP-DP-CP", "symbol_code_dim": D, **options}
    return make_model(dictionary, symbol_embedding=kind, **options)


def redrawn(kind, dictionary=None, **options):
    return redraw(build(kind, dictionary, **options)).eval()


def use(model, lines):
    """Canonical ids of sentences, their slots and layout, and the vectors of the batch."""
    canonical, slots = model.read(encode(model.vocabulary.dictionary, lines))
    return canonical, slots, slots.streams(), model.encoder.embed_tokens.table()


def codes(model):
    """The code of each symbol in the vectors of a batch."""
    table = model.encoder.embed_tokens.table()
    return table.matrix[model.vocabulary.num_base :, -D:].sign()


def masked(logits):
    """Those of <s>, <pad> and <unk> are minus infinity."""
    logits[..., [0, 1, 3]] = -float("inf")
    return logits


@pytest.mark.parametrize("kind", BASELINES)
@pytest.mark.parametrize("head", ["cosine", "linear"])
@pytest.mark.parametrize("scaled", [True, False])
def test_rows_embed_and_project(kind, head, scaled):
    options = dict(output_head=head, scale_cosine_embedding=scaled, no_scale_embedding=not scaled)
    model = redrawn(kind, **options).double()
    embedding, random = model.encoder.embed_tokens, kind == "random"
    canonical, _, streams, table = use(model, ["& c | a c", "! 0"])
    rows = 4 + len(BASE) + (1 if random else len(SYMBOLS))
    assert embedding.weight.shape == (rows, 24 - D * random)
    assert embedding.num_classes == 4 + len(FIXED)
    matrix = embedding.weight if head == "linear" else F.normalize(embedding.weight, dim=1)
    matrix = table.matrix if random else matrix
    embedded = table.embed(AllPlaces(canonical, embedding.vocabulary.num_base, streams))
    torch.testing.assert_close(embedded, matrix[canonical] * (24**0.5 if scaled else 1))
    hidden = torch.randn(2, 3, 24, dtype=torch.float64)
    expected = (F.normalize(hidden, dim=2) if head == "cosine" else hidden) @ matrix.t()
    torch.testing.assert_close(table.project(hidden, streams), masked(expected))
    beyond = table.embed(
        AllPlaces(torch.tensor([[19, 10**6, 3]] * 2), embedding.vocabulary.num_base, streams)
    )[0]
    assert torch.equal(beyond[0], beyond[2]) and torch.equal(beyond[1], beyond[2])


def test_vectors_of_two_parts():
    model = redrawn("random", make_dictionary("abc")).double()
    canonical, _, streams, table = use(model, ["& a b"])
    base, a, b = table.embed(AllPlaces(canonical, model.vocabulary.num_base, streams))[0, :3]
    assert not base[-D:].any() and not torch.equal(a, b)
    torch.testing.assert_close(table.matrix.norm(dim=1), torch.ones(14, dtype=torch.float64))
    # One shared learnt part, and codes of equal weight at corners of the hypercube.
    shared = F.normalize(model.encoder.embed_tokens.weight[-1], dim=0)
    for symbol in (a, b):
        torch.testing.assert_close(symbol[:-D], shared / 2**0.5)
        torch.testing.assert_close(symbol[-D:].abs(), torch.full((D,), (2 * D) ** -0.5).double())


def test_codes_are_drawn_per_batch_in_training_and_fixed_in_evaluation():
    """The decoder embeds with those of its own batch."""
    dictionary = make_dictionary()
    model = build("random", dictionary, dropout=0.0).eval()
    fixed = codes(model)
    assert torch.equal(codes(model), fixed)
    model.train()
    drawn = []
    for seed in (5, 5, 6):
        torch.manual_seed(seed)
        drawn.append(codes(model))
    assert torch.equal(drawn[0], drawn[1])
    assert not torch.equal(drawn[0], drawn[2]) and not torch.equal(drawn[0], fixed)
    net_input = make_sample(dictionary)["net_input"]
    one, other = (model.encode(net_input["src_tokens"]) for _ in range(2))
    assert len(set(map(id, model.tables()))) == 1  # encoder, decoder and projection
    logits = [model.decode(net_input["prev_output_tokens"], s) for s in (one, one, other)]
    assert torch.equal(logits[0], logits[1]) and not torch.equal(logits[0], logits[2])
    assert torch.equal(codes(model.eval()), fixed)


def test_codes_belong_to_names():
    """They depend on the seed, not on the order or the size of the dictionary; checkpoints lack them."""
    first, other, again = (
        dict(zip(names, random_codes(list(names), 32, seed).tolist()))
        for names, seed in (("abc", 1), ("cxa", 1), ("abc", 2))
    )
    assert first["a"] == other["a"] and first["c"] == other["c"]
    assert len({tuple(code) for code in [*first.values(), *again.values()]}) == 6
    buffers = {"base_tokens", "symbols", "source_only"}
    assert set(build("random").vocabulary.state_dict()) == buffers


def test_codes_are_balanced_and_every_corner_is_used():
    drawn = random_codes([f"p{index}" for index in range(2000)], 20, 3)
    assert drawn.abs().eq(1).all() and drawn.mean(0).abs().max() < 0.1
    correlation = drawn.t() @ drawn / 2000 - torch.eye(20)
    assert correlation.abs().max() < 0.15
    names = [f"p{index}" for index in range(9)]
    assert len({tuple(code) for code in random_codes(names[:8], 3, 1).tolist()}) == 8
    with pytest.raises(UserError, match="are 9, which 4 do; change symbol_code_dim"):
        random_codes(names, 3, 1)


def test_fixed_ids_are_rows_by_name():
    model = build("fixed")
    canonical, slots, _, _ = use(model, ["& c | a c"])
    assert canonical.tolist() == [[*(4 + FIXED.index(token) for token in "&c|ac"), 2]]
    assert slots.names.shape == (1, 0)
    # Symbols are leaves of formulas, like constants.
    assert model.vocabulary.operators == {t: ARITY[t] for t in BASE if t in ARITY}


def test_fixed_rows_of_symbols_that_a_checkpoint_lacks():
    model = build("fixed", make_dictionary("abc"))
    loaded = build("fixed", make_dictionary("aybz", pattern=None))
    with pytest.raises(UserError, match="no embedding for: 'y' 'z'"):
        loaded.load_state_dict(model.state_dict())
    with pytest.raises(UserError, match="no embedding for: 'z'"):
        use(model, ["& a z"])
    with pytest.raises(
        UserError, match="matches 'a' 'b' 'c', which the checkpoint was trained with"
    ):
        make_model(make_dictionary("abc")).load_state_dict(model.state_dict())


def test_canonical_symbols_beyond_the_rows_of_their_sort_are_unknown(caplog):
    """As many as the dictionary of training had, whatever the one at hand has."""
    pattern = "t=T\\d\nc=[c-z]"
    trained = build("canonical", make_dictionary(["T0", "T1", "c", "d", "e"], BASE, pattern))
    model = build("canonical", make_dictionary(["T7"], BASE, None))
    model.load_state_dict(trained.state_dict())
    words, base = model.vocabulary.dictionary, model.vocabulary.num_base
    canonical, slots, _, _ = use(model, ["z T5 z T4 y x T9 w", "! 0"])
    names = slots.names
    expected = [base + n for n in (2, 0, 2, 1, 3, 4)] + [words.unk()] * 2
    assert canonical[0, :8].tolist() == expected
    assert [words[i] for i in names[0].tolist()] == ["T5", "T4", "z", "y", "x"]
    assert names[1].tolist() == [words.unk()] * 5
    targets = slots.encode(encode(words, ["T9 1 y", "1"]))
    assert targets[0, :4].tolist() == [words.unk(), 4 + BASE.index("1"), base + 3, 2]
    use(model, ["T5 T4 T9"])
    (warning,) = caplog.records  # once
    assert "(2, 3)" in warning.getMessage()


def test_random_ids_follow_the_dictionary_as_it_grows():
    model = build("random", make_dictionary("cab"))
    canonical, slots, _, _ = use(model, ["& b z"])
    words, slot = model.vocabulary.dictionary, model.vocabulary.num_base
    assert [words[index] for index in slots.names[0].tolist()] == ["c", "a", "b", "z"]
    assert canonical[0, 1:3].tolist() == [slot + 2, slot + 3]


def test_sentences_whose_symbols_a_model_cannot_read():
    found = []
    for kind in (*BASELINES, "streams"):
        model = build(kind, make_dictionary("ab"), symbol_code_dim=2)
        words = model.vocabulary.dictionary
        assert model.unreadable(encode(words, ["& a b"])[0]) is None
        found.append(model.unreadable(encode(words, ["| z & y x"])[0]))
    assert "no embedding for: 'x' 'y' 'z'" in found[0] and "tells 4 apart" in found[2]
    assert found[1] is found[3] is None


@pytest.mark.parametrize("kind", BASELINES)
def test_models_vote_with_their_kind_and_tokens(kind):
    one, equal = build(kind).vocabulary, build(kind, make_dictionary(SYMBOLS[::-1])).vocabulary
    assert one.same_columns(equal)
    assert not one.same_columns(build(kind, make_dictionary(base=("!", "&"))).vocabulary)
    # The only ones whose number of columns was fixed in training, beside base tokens.
    fewer = build(kind, make_dictionary("abc")).vocabulary
    assert one.same_columns(fewer) == (kind == "random")
    for other in {*BASELINES, "streams"} - {kind}:
        with pytest.raises(UserError, match="another kind of symbols"):
            StreamSequenceGenerator([build(kind), build(other)], make_dictionary())


@pytest.mark.parametrize("kind", BASELINES)
def test_which_symbols_can_be_produced(kind):
    """Any of the dictionary; of canonical ones the first two, as there are so many rows. A beam may be
    wider than there are columns."""
    dictionary = make_dictionary("ab")
    model, source = redrawn(kind, dictionary), "& & v w & x y"
    if kind == "fixed":
        source = "& a a"
    logits, extra = model(**make_sample(dictionary, [source], ["1"])["net_input"])
    columns = logits[0, 0].isfinite().nonzero().squeeze(1)
    tokens = extra["slots"].named().decode(columns, 0).tolist()
    known = {"fixed": "ab", "canonical": "vw", "random": "abvwxy"}[kind]
    assert {dictionary[i] for i in tokens if dictionary.is_symbol(dictionary[i])} == set(known)
    sample = make_sample(dictionary, [source], ["1"])
    (found,) = generate([model], dictionary, sample, beam_size=25, max_len_b=3)
    assert len(found) > 20 and all(int(h["tokens"].max()) < len(dictionary) for h in found)


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
