"""The baselines are this model with one stream per sentence, and nothing else."""

from types import SimpleNamespace

import pytest
import torch
from conftest import SYMBOLS, encode, make_dictionary, make_model, make_sample, redraw
from fairseq import options
from fairseq.dataclass.utils import convert_namespace_to_omegaconf

from sit_fairseq.errors import UserError
from sit_fairseq.models.symbol_invariant_transformer import SymbolInvariantTransformerModel
from sit_fairseq.search.slot_search import StreamSequenceGenerator
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
    encoder_out = model.encoder(net_input["src_tokens"])
    names = encoder_out["names"][0]
    tokens = model.vocabulary.encode(net_input["prev_output_tokens"], names)
    state = {}
    for step in range(tokens.size(1)):
        found = model.decoder(tokens[:, : step + 1], encoder_out, state)[0][:, 0]
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


def test_random_codes_follow_the_seed_of_the_task():
    dictionary = make_dictionary()
    model = redrawn("random", dictionary)
    sample = make_sample(dictionary)
    losses = []
    for seed in (1, 1, 2):
        model.encoder.embed_tokens.seed = seed
        losses.append(float(training_measure(model)(sample)["loss"]))
    assert losses[0] == losses[1] != losses[2]
    # In training the draw follows the generator that fairseq seeds at each update.
    model.train()
    losses = [float(training_measure(model, seed)(sample)["loss"]) for seed in (3, 3, 4)]
    assert losses[0] == losses[1] != losses[2]


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


@pytest.mark.parametrize("kind", BASELINES)
def test_aggregated_attention_is_refused(kind):
    for pattern in ("EP-DP-EA-CP", "EP-DP-DA-CP", "EP-DP-CP-CA"):
        with pytest.raises(UserError, match=f"{kind} has one stream.*pass --stream-attention"):
            build(kind, stream_attention=pattern)
    build(kind, stream_attention="DP-CP")


def test_options_that_do_not_go_with_random_codes():
    with pytest.raises(UserError, match="pass --share-embeddings all"):
        build("random", share_embeddings="decoder")
    for dim in (0, 24):
        with pytest.raises(UserError, match=f"--symbol-code-dim {dim} must"):
            build("random", symbol_code_dim=dim)
    with pytest.raises(UserError, match="there are 8; train with --symbol-code-dim 3 or more"):
        build("random", symbol_code_dim=2)


@pytest.mark.parametrize("kind", ["fixed", "canonical"])
def test_separate_matrices(kind):
    model = build(kind, share_embeddings="none", decoder_embed_dim=30)
    sizes = [tuple(p.shape) for n, p in model.named_parameters() if p.size(0) == 19]
    assert sizes == [(19, 24), (19, 30), (19, 30)]


def test_ensembles_of_one_kind_only():
    dictionary = make_dictionary()
    models = [build(kind, dictionary) for kind in BASELINES] + [make_model(dictionary)]
    for one in models:
        for other in models:
            if one is not other:
                with pytest.raises(UserError, match="another --symbol-embedding"):
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


def layers(dim, ffn, count):
    attention, norm = 4 * (dim * dim + dim), 2 * dim
    feed_forward = 2 * dim * ffn + ffn + dim
    encoder = attention + feed_forward + 2 * norm
    decoder = 2 * attention + feed_forward + 3 * norm
    return count * (encoder + decoder)


@pytest.mark.parametrize(
    "task, dim, ffn, depth, heads, positions",
    [
        ("copy", 128, 128, 6, 8, "rope"),
        ("ltl", 128, 1024, 8, 8, "tree"),
        ("prop", 132, 512, 6, 6, "tree"),
    ],
)
def test_architectures_of_the_papers_baselines(task, dim, ffn, depth, heads, positions):
    arch = f"symbol_invariant_transformer_{task}_baseline"
    given = ["data", "--task", "stream_translation", "--arch", arch]
    parser = options.get_training_parser()
    cfg = convert_namespace_to_omegaconf(options.parse_args_and_arch(parser, given)).model
    dictionary = make_dictionary()
    model = SymbolInvariantTransformerModel.build_model(
        cfg, SimpleNamespace(source_dictionary=dictionary)
    )
    assert outside_the_matrix(model) == layers(dim, ffn, depth)
    embedding = model.encoder.embed_tokens
    # Four special tokens, five operators, two constants, eight symbols.
    assert embedding.weight.shape == (4 + 5 + 2 + 8, dim)
    assert embedding.scale == dim**0.5 and embedding.cosine
    assert model.encoder.layers[0].self_attn.num_heads == heads
    assert str(cfg.encoder_positions) == positions


def test_the_decoder_embeds_with_the_codes_of_its_own_batch():
    """In training each batch has others."""
    dictionary = make_dictionary()
    model = make_model(
        dictionary, symbol_embedding="random", stream_attention="EP-DP-CP", dropout=0.0
    )
    net_input = make_sample(dictionary)["net_input"]
    model.train()
    out = [model.encoder(net_input["src_tokens"]) for _ in range(2)]
    assert not torch.equal(out[0]["codes"][0], out[1]["codes"][0])
    names = out[0]["names"][0]
    previous = model.vocabulary.encode(net_input["prev_output_tokens"], names)
    first = model.decoder(previous, out[0])[0]
    other = model.decoder(previous, out[1])[0]
    assert torch.equal(model.decoder(previous, out[0])[0], first)
    assert not torch.equal(first, other)


def test_scaled_cosine_embedding():
    dictionary = make_dictionary()
    tokens = encode(dictionary, ["! 0"])
    for scaled, norm in ((False, 1.0), (True, 24**0.5)):
        model = make_model(dictionary, scale_cosine_embedding=scaled)
        canonical, names = model.vocabulary.canonicalise(tokens)
        found = model.encoder.embed_tokens(canonical, model.vocabulary.streams(names))
        torch.testing.assert_close(found.norm(dim=2), torch.full((1, 3), norm))


# Sources are those of make_sample; symbols that they lack have other names here and there.
FRESH = ["e 1 b e 0 a", "a 1", "h g 0 d a g", "a f 1 c f e b"]
FRESH_RENAMED = ["b 1 c b 0 f", "a 1", "e f 0 d a f", "a d 1 c d g b"]


@pytest.mark.parametrize("kind", BASELINES)
def test_fresh_symbols_are_those_of_streams(kind):
    """What a target calls the symbols that its source lacks plays no part, only those that are
    taken and the next are open, and no other symbol is."""
    dictionary = make_dictionary()
    model = redrawn(kind, dictionary, fresh_symbols=3)
    streams = make_model(dictionary, fresh_symbols=3)
    outputs = []
    for targets in (FRESH, FRESH_RENAMED):
        sample = make_sample(dictionary, targets=targets)
        output = model(**sample["net_input"])
        outputs.append((output[0], model.get_targets(sample, output)))
        expected = streams(**sample["net_input"])
        real = sample["target"].ne(dictionary.pad())
        num_base, first = streams.vocabulary.num_base, model.vocabulary.num_base
        symbols = output[0][..., first:].isfinite(), expected[0][..., num_base:].isfinite()
        assert torch.equal(*(found[real] for found in symbols))
        names = [dictionary[i] for i in model.vocabulary.index_of_row.tolist()]
        named = [dictionary.is_symbol(name) for name in names]
        assert not output[0][..., :first][..., named].isfinite().any()
        assert output[0].gather(2, outputs[-1][1].unsqueeze(2))[real].isfinite().all()
    assert all(torch.equal(one, other) for one, other in zip(*outputs))


@pytest.mark.parametrize("kind", BASELINES)
def test_fresh_symbols_are_answered(kind):
    """Searching scores as teacher forcing does; answers have different new names."""
    dictionary = make_dictionary()
    model = redrawn(kind, dictionary, fresh_symbols=3).double()
    sample = make_sample(dictionary)
    generator = StreamSequenceGenerator([model], dictionary, beam_size=16, max_len_b=6)
    fresh = set()
    for row, hypotheses in enumerate(generator.generate([model], sample)):
        source = sample["net_input"]["src_tokens"][row]
        own = set(filter(dictionary.is_symbol, dictionary.text(source).split()))
        for hypothesis in hypotheses:
            tokens = hypothesis["tokens"]
            answer = filter(dictionary.is_symbol, dictionary.text(tokens).split())
            new = [name for name in dict.fromkeys(answer) if name not in own]
            free = [name for name in SYMBOLS if name not in own]
            assert new == free[: len(new)]
            fresh.update(new)
            previous = torch.cat((tokens.new_tensor([dictionary.eos()]), tokens[:-1]))
            output = model(source[None], None, previous[None])
            target = model.get_targets({"target": tokens[None]}, output)
            scores = model.get_normalized_probs(output, True)[0].gather(1, target[0, :, None])
            torch.testing.assert_close(
                hypothesis["positional_scores"].double(), scores[:, 0], rtol=0, atol=1e-5
            )
    assert fresh


def test_names_without_a_row_are_no_fresh_names():
    dictionary = make_dictionary("ab")
    model = redrawn("fixed", dictionary, fresh_symbols=1)
    with pytest.raises(UserError, match="a sentence of 2 symbols leaves 0 names"):
        StreamSequenceGenerator([model], dictionary).generate(
            [model], {"net_input": {"src_tokens": encode(dictionary, ["& a b"])}}
        )
