"""The baselines are this model with one stream per sentence, and nothing else: canonical ids by name,
by order of first appearance or by dictionary, and matrices with a row or a code for each."""

import re

import pytest
import torch
from conftest import SYMBOLS, encode, make_dictionary, make_model, make_sample, redraw
from fairseq import options

from sit_fairseq.errors import UserError
from sit_fairseq.logic.syntax import ARITY
from sit_fairseq.models.baselines import (
    CanonicalEmbedding,
    CanonicalVocabulary,
    FixedEmbedding,
    FixedVocabulary,
    NamedVocabulary,
    RandomEmbedding,
    random_codes,
)
from sit_fairseq.models.positions import TreePositions
from sit_fairseq.search.fairseq_generator import StreamSequenceGenerator
from sit_fairseq.symbols.vocabulary import Vocabulary
from sit_fairseq.testing import (
    assert_symbol_invariant,
    invariance_error,
    renaming,
    renamings,
    training_measure,
)

BASELINES = ("fixed", "canonical", "random")

# Vocabularies.

VOCABULARIES = (FixedVocabulary, CanonicalVocabulary, NamedVocabulary)
# Four special tokens, then these in the order of their rows.
BASE = ["!", "&", "0", "1", "<->", "xor", "|"]
FIXED = ["!", "&", "0", "1", "<->", "a", "b", "c", "d", "e", "f", "g", "h", "xor", "|"]


def text_of(vocabulary, canonical, names):
    tokens = vocabulary.decode(canonical, names)
    return " ".join(vocabulary.dictionary[index] for index in tokens.tolist())


@pytest.mark.parametrize("kind", VOCABULARIES)
def test_one_stream_per_sentence(kind):
    dictionary = make_dictionary()
    vocabulary = kind(dictionary)
    _, names = vocabulary.canonicalise(encode(dictionary, ["& c | a c", "! 0", "b"]))
    streams = vocabulary.streams(names)
    assert streams.sentence.tolist() == [0, 1, 2]
    assert streams.num_slots.tolist() == [0, 0, 0]


@pytest.mark.parametrize("kind", VOCABULARIES)
def test_sentence_and_target_and_back(kind):
    dictionary = make_dictionary()
    vocabulary = kind(dictionary)
    source, target = encode(dictionary, ["& c | a c", "! 0"]), encode(dictionary, ["a 1 c 0", "1"])
    canonical, names = vocabulary.canonicalise(source)
    encoded = vocabulary.encode(target, names)
    for row in range(2):
        assert torch.equal(vocabulary.decode(canonical[row], names[row]), source[row])
        assert torch.equal(vocabulary.decode(encoded[row], names[row]), target[row])


def test_fixed_ids_are_rows_by_name():
    dictionary = make_dictionary()
    vocabulary = FixedVocabulary(dictionary)
    assert vocabulary.num_base == 4 + len(FIXED)
    canonical, names = vocabulary.canonicalise(encode(dictionary, ["& c | a c"]))
    rows = [4 + FIXED.index(token) for token in "&c|ac"]
    assert canonical.tolist() == [[*rows, 2]] and names.shape == (1, 0)
    # Symbols are leaves of formulas, like constants.
    arities = TreePositions(vocabulary, ARITY, 8).arities(canonical[0])
    assert arities.tolist() == [2, 0, 2, 0, 0, 0]


def test_fixed_checkpoint_into_another_dictionary():
    vocabulary = FixedVocabulary(make_dictionary())
    other = make_dictionary("hdb", ("|", "1", "!"), pattern=None)
    loaded = FixedVocabulary(other)
    loaded.load_state_dict(vocabulary.state_dict())
    assert loaded.num_base == vocabulary.num_base and other.pattern == "[a-z]"
    canonical, names = loaded.canonicalise(encode(other, ["| d b"]))
    assert canonical.tolist() == [[4 + FIXED.index(token) for token in "|db"] + [2]]
    # Symbols that this dictionary lacks can be produced all the same.
    assert text_of(loaded, torch.tensor([4 + FIXED.index("g")]), names[0]) == "g"


def test_fixed_rows_of_symbols_the_checkpoint_lacks():
    vocabulary = FixedVocabulary(make_dictionary("abc"))
    loaded = FixedVocabulary(make_dictionary("aybz", pattern=None))
    with pytest.raises(UserError, match="no embedding for: 'y' 'z'; a model of fixed"):
        loaded.load_state_dict(vocabulary.state_dict())
    with pytest.raises(UserError, match="does not know: 'U'"):
        FixedVocabulary(make_dictionary("ab", ("U",))).load_state_dict(vocabulary.state_dict())
    with pytest.raises(UserError, match="no embedding for: 'z'"):
        vocabulary.canonicalise(encode(vocabulary.dictionary, ["& a z"]))


def test_streams_do_not_take_over_symbols_as_base_tokens():
    state = FixedVocabulary(make_dictionary("ab")).state_dict()
    with pytest.raises(UserError, match="matches 'a' 'b', which the checkpoint was trained with"):
        Vocabulary(make_dictionary("ab")).load_state_dict(state)


def test_canonical_ids_are_those_of_streams():
    dictionary = make_dictionary()
    sentences = encode(dictionary, ["& c | a c", "! 0", "xor b b"])
    vocabulary = CanonicalVocabulary(dictionary)
    canonical, names = vocabulary.canonicalise(sentences)
    assert torch.equal(canonical, Vocabulary(dictionary).canonicalise(sentences)[0])
    assert vocabulary.num_symbol_rows == 8 and names.shape == (3, 8)
    unk, (a, b, c) = dictionary.unk(), (dictionary.index(token) for token in "abc")
    assert names[:, :3].tolist() == [[c, a, unk], [unk] * 3, [b, unk, unk]]
    assert text_of(vocabulary, torch.tensor([11, 12, 13]), names[0]) == "c a <unk>"


def test_more_symbols_than_canonical_rows(caplog):
    vocabulary = CanonicalVocabulary(make_dictionary("ab"))
    dictionary = vocabulary.dictionary
    source = encode(dictionary, ["& z | y & z x", "! z"])
    canonical, names = vocabulary.canonicalise(source)
    slot, unk = vocabulary.num_base, dictionary.unk()
    row = {token: 4 + index for index, token in enumerate(BASE)}
    assert canonical[0].tolist() == [row["&"], slot, row["|"], slot + 1, row["&"], slot, unk, 2]
    z, y = (dictionary.index(name) for name in "zy")
    assert names.tolist() == [[z, y], [z, unk]]
    target = vocabulary.encode(encode(dictionary, ["x 1 y 0"]), names[:1])
    assert target.tolist() == [[unk, row["1"], slot + 1, row["0"], 2]]
    vocabulary.canonicalise(source)
    (warning,) = caplog.records  # once
    assert "3 different symbols" in warning.getMessage() and "with 2" in warning.getMessage()


def test_canonical_checkpoint_keeps_the_number_of_rows():
    state = CanonicalVocabulary(make_dictionary("abc")).state_dict()
    loaded = CanonicalVocabulary(make_dictionary("uvwxyz", pattern=None))
    assert loaded.num_symbol_rows == 0
    loaded.load_state_dict(state)
    assert loaded.num_symbol_rows == 3
    _, names = loaded.canonicalise(encode(loaded.dictionary, ["! 0"]))
    assert names.tolist() == [[loaded.dictionary.unk()] * 3]


def test_named_ids_follow_the_dictionary_as_it_grows():
    dictionary = make_dictionary("cab")
    vocabulary = NamedVocabulary(dictionary)
    assert vocabulary.symbol_names() == ["c", "a", "b"]
    canonical, names = vocabulary.canonicalise(encode(dictionary, ["& b z"]))
    assert vocabulary.symbol_names() == ["c", "a", "b", "z"]
    slot = vocabulary.num_base
    assert canonical[0, 1:3].tolist() == [slot + 2, slot + 3] and names.shape == (1, 4)
    assert text_of(vocabulary, torch.arange(slot, slot + 4), names[0]) == "c a b z"


def test_sentences_whose_symbols_a_model_cannot_read():
    fixed, canonical, named = (kind(make_dictionary("ab")) for kind in VOCABULARIES)
    for vocabulary in (fixed, canonical, named, Vocabulary(make_dictionary("ab"))):
        assert vocabulary.unreadable(encode(vocabulary.dictionary, ["& a b"])[0]) is None
    new = encode(fixed.dictionary, ["| z & y z"])[0]
    assert fixed.unreadable(new) == "holds symbols that the model has no embedding for: 'y' 'z'"
    assert canonical.unreadable(encode(canonical.dictionary, ["| z & y z"])[0]) is None
    RandomEmbedding(named, 8, 2, seed=0, cosine=True, scaled=False)
    assert named.unreadable(encode(named.dictionary, ["& z y"])[0]) is None
    fifth = encode(named.dictionary, ["& x y"])[0]
    assert re.search("to 5, of which the model tells 4 apart$", named.unreadable(fifth))


@pytest.mark.parametrize("kind", VOCABULARIES)
def test_same_columns(kind):
    one, equal = kind(make_dictionary()), kind(make_dictionary(SYMBOLS[::-1]))
    assert one.same_columns(equal)
    assert not one.same_columns(kind(make_dictionary(base=("!", "&"))))
    assert not any(one.same_columns(k(make_dictionary())) for k in VOCABULARIES if k is not kind)
    # The only ones whose number of columns was fixed in training, beside base tokens.
    fewer = kind(make_dictionary("abc"))
    assert one.same_columns(fewer) == (kind is NamedVocabulary)


# Matrices.

C, D = 10, 4
PLAIN = [
    (FixedVocabulary, FixedEmbedding, 4 + 7 + 8),
    (CanonicalVocabulary, CanonicalEmbedding, 4 + 7 + 8),
]


def dual_part(dictionary=None, *, seed=1, cosine=True, scaled=False):
    vocabulary = NamedVocabulary(dictionary or make_dictionary())
    embedding = RandomEmbedding(vocabulary, C, D, seed, cosine=cosine, scaled=scaled)
    return embedding.double().eval()


def use(embedding, tokens):
    canonical, names = embedding.vocabulary.canonicalise(tokens)
    streams = embedding.vocabulary.streams(names)
    return canonical, embedding.table().embed(canonical, streams), streams


def codes(embedding):
    """The code of each symbol in the vectors of a batch."""
    return embedding.table().matrix[embedding.vocabulary.num_base :, C - D :].sign()


def masked(logits):
    """Those of <s>, <pad> and <unk> are minus infinity."""
    logits[..., [0, 1, 3]] = -float("inf")
    return logits


@pytest.mark.parametrize("vocabulary_class, embedding_class, rows", PLAIN)
@pytest.mark.parametrize("cosine", [True, False])
@pytest.mark.parametrize("scaled", [True, False])
def test_rows_embed_and_project(vocabulary_class, embedding_class, rows, cosine, scaled):
    dictionary = make_dictionary()
    vocabulary = vocabulary_class(dictionary)
    embedding = embedding_class(vocabulary, C, cosine=cosine, scaled=scaled).double()
    assert embedding.weight.shape == (rows, C) and embedding.num_classes == rows
    matrix = embedding.weight / embedding.weight.norm(dim=1, keepdim=True)
    matrix = matrix if cosine else embedding.weight
    canonical, embedded, streams = use(embedding, encode(dictionary, ["& c | a c", "! 0"]))
    torch.testing.assert_close(embedded, matrix[canonical] * (C**0.5 if scaled else 1))
    hidden = torch.randn(2, 3, C, dtype=torch.float64)
    unit = hidden / hidden.norm(dim=2, keepdim=True) if cosine else hidden
    expected = torch.einsum("btc,vc->btv", unit, matrix)
    torch.testing.assert_close(embedding.table().project(hidden, streams), masked(expected))


def test_ids_without_a_vector_read_as_unk():
    embedding = FixedEmbedding(FixedVocabulary(make_dictionary()), C, cosine=True, scaled=False)
    streams = embedding.vocabulary.streams(torch.empty(1, 0, dtype=torch.long))
    found = embedding.table().embed(torch.tensor([[19, 10**6, 3]]), streams)
    assert torch.equal(found[0, 0], found[0, 2]) and torch.equal(found[0, 1], found[0, 2])


def test_dual_part_vectors():
    dictionary = make_dictionary("abc")
    embedding = dual_part(dictionary)
    num_base = embedding.vocabulary.num_base
    assert embedding.weight.shape == (num_base + 1, C - D)
    assert embedding.num_classes == num_base + 3
    canonical, embedded, _ = use(embedding, encode(dictionary, ["& a b"]))
    base, a, b = embedded[0, :3]
    assert not base[C - D :].any()
    torch.testing.assert_close(embedded.norm(dim=2), torch.ones(1, 4, dtype=torch.float64))
    # One shared learnt part, and codes of equal weight at corners of the hypercube.
    assert torch.equal(a[: C - D], b[: C - D])
    shared = embedding.weight[-1] / embedding.weight[-1].norm()
    torch.testing.assert_close(a[: C - D], shared / 2**0.5)
    for symbol in (a, b):
        torch.testing.assert_close(
            symbol[C - D :].abs(), torch.full((D,), (2 * D) ** -0.5).double()
        )
    assert not torch.equal(a, b)


@pytest.mark.parametrize("cosine", [True, False])
def test_dual_part_logits_are_products_with_the_same_vectors(cosine):
    dictionary = make_dictionary("abc")
    embedding = dual_part(dictionary, cosine=cosine)
    every = torch.arange(embedding.num_classes).unsqueeze(0)
    _, _, streams = use(embedding, encode(dictionary, ["a"]))
    hidden = torch.nn.functional.normalize(torch.randn(1, 3, C, dtype=torch.float64), dim=2)
    table = embedding.table()
    expected = hidden @ table.embed(every, streams)[0].t()
    torch.testing.assert_close(table.project(hidden, streams), masked(expected))


def test_codes_are_drawn_per_batch_in_training_and_fixed_in_evaluation():
    embedding = dual_part()
    fixed = codes(embedding)
    assert torch.equal(codes(embedding), fixed)
    embedding.train()
    drawn = []
    for seed in (5, 5, 6):
        torch.manual_seed(seed)
        drawn.append(codes(embedding))
    assert torch.equal(drawn[0], drawn[1])
    assert not torch.equal(drawn[0], drawn[2]) and not torch.equal(drawn[0], fixed)
    assert torch.equal(codes(embedding.eval()), fixed)


def test_codes_belong_to_names():
    """They depend on the seed, not on the order or the size of the dictionary."""
    first = dict(zip("abc", random_codes(list("abc"), 32, 1).tolist()))
    other = dict(zip("cxa", random_codes(list("cxa"), 32, 1).tolist()))
    assert first["a"] == other["a"] and first["c"] == other["c"]
    again = dict(zip("abc", random_codes(list("abc"), 32, 2).tolist()))
    assert first["a"] != again["a"]
    assert len({tuple(code) for code in [*first.values(), *again.values()]}) == 6


def test_codes_are_balanced():
    drawn = random_codes([f"p{index}" for index in range(2000)], 20, 3)
    assert drawn.abs().eq(1).all() and drawn.mean(0).abs().max() < 0.1
    correlation = drawn.t() @ drawn / 2000 - torch.eye(20)
    assert correlation.abs().max() < 0.15


def test_every_corner_is_used_before_any_is_missing():
    names = [f"p{index}" for index in range(9)]
    assert len({tuple(code) for code in random_codes(names[:8], 3, 1).tolist()}) == 8
    with pytest.raises(
        UserError, match="3 channels tell 8 symbols.*are 9, which 4 do; change --symbol-code-dim"
    ):
        random_codes(names, 3, 1)


def test_checkpoint_holds_no_codes():
    embedding = dual_part(make_dictionary("abc"))
    state = embedding.state_dict()
    buffers = {"vocabulary.base_tokens", "vocabulary.symbols", "vocabulary.source_only"}
    assert set(state) == {"weight", *buffers}
    loaded = dual_part(make_dictionary("uvwxyza", ("1",), pattern=None))
    loaded.load_state_dict(state)
    assert torch.equal(loaded.weight, embedding.weight) and codes(loaded).shape == (7, D)


# Models.


def build(kind, dictionary=None, **options):
    options = {"stream_attention": "EP-DP-CP", "symbol_code_dim": 6, **options}
    return make_model(dictionary, symbol_embedding=kind, **options)


def redrawn(kind, dictionary=None, **options):
    model = build(kind, dictionary, **options)
    redraw(model)
    return model.eval()


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
    tokens = model.vocabulary.encode(net_input["prev_output_tokens"], source.names)
    cache = model.new_cache(source)
    for step in range(tokens.size(1)):
        found = model.step(tokens[:, : step + 1], source, cache)[:, 0]
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
    tokens = model.vocabulary.decode(columns, extra["names"][0]).tolist()
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


# Parameters: the ablation table's EP-DP-CP without its 12 rows is a plain transformer.


def outside_the_matrix(model):
    return sum(p.numel() for n, p in model.named_parameters() if "embed_tokens" not in n)


@pytest.mark.parametrize("kind", BASELINES)
def test_same_parameters_as_the_streams_without_aggregation(kind):
    model = build(
        kind,
        encoder_embed_dim=96,
        encoder_ffn_embed_dim=768,
        encoder_layers=6,
        encoder_attention_heads=6,
    )
    assert outside_the_matrix(model) == 2_457_216 - 12 * 96


def test_the_decoder_embeds_with_the_codes_of_its_own_batch():
    """In training each batch has others."""
    dictionary = make_dictionary()
    model = make_model(
        dictionary, symbol_embedding="random", stream_attention="EP-DP-CP", dropout=0.0
    )
    net_input = make_sample(dictionary)["net_input"]
    model.train()
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
        canonical, names = model.vocabulary.canonicalise(tokens)
        table = model.encoder.embed_tokens.table()
        found = table.embed(canonical, model.vocabulary.streams(names))
        torch.testing.assert_close(found.norm(dim=2), torch.full((1, 3), norm))
