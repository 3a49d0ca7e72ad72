"""What no model, pattern or search can have is refused: in one line that ends with the
parameter to change."""

from functools import partial

import pytest
from conftest import make_dictionary, make_model, make_sample
from fairseq.search import DiverseBeamSearch
from searches import build, generate

from sit_fairseq.errors import UserError
from sit_fairseq.models.config import LanguageModelConfig, ModelConfig, check
from sit_fairseq.symbols.fresh import FreshSymbols
from sit_fairseq.symbols.pattern import SymbolPattern
from sit_fairseq.symbols.tokens import TokenTable
from sit_fairseq.symbols.vocabulary import Vocabulary
from sit_fairseq.tasks.generators import StreamSequenceGenerator

BASELINES = ("fixed", "canonical", "random")
ONE_STREAM = dict(stream_attention="EP-DP-CP")
SORTS = "a=[a-d]\nb=[e-h]"


def random(**options):
    return dict(ONE_STREAM, symbol_embedding="random", **options)


# Options of a model that are unknown or contradict each other, each with one that is at fault.
CONFIGS = [
    *(
        (dict(stream_attention=text), "stream_attention")
        for text in ("EP-XY-CP", "EP-EP-CP", "", "ep-CP", "EP-DP-EA-DA")
    ),
    *(
        ({name: "other"}, name)
        for name in (
            *("symbol_embedding", "stream_places", "encoder_positions"),
            *("share_embeddings", "output_head"),
        )
    ),
    (dict(decoder_positions="tree"), "decoder_positions"),
    *((dict(layer_norm_eps=eps), "layer_norm_eps") for eps in (0.0, float("nan"))),
    (dict(encoder_layers=0, decoder_layers=1), "encoder_layers"),
    (dict(decoder_layers=0), "decoder_layers"),
    *((dict(activation_dropout=rate), "activation_dropout") for rate in (-0.5, 1.0)),
    (dict(tree_depth=-1), "tree_depth"),
    *(
        (dict(fresh_symbols=number), "fresh_symbols")
        for number in (-1, "t=1,t=2", "2,t=2", "t=999,u=2")
    ),
    (dict(share_embeddings="all", decoder_embed_dim=36), "share_embeddings"),
    (dict(decoder_embed_dim=21, decoder_attention_heads=3), "decoder_attention_heads"),
    (
        dict(encoder_embed_dim=20, encoder_attention_heads=3, encoder_positions="none"),
        "encoder_embed_dim",
    ),
    *(
        (dict(symbol_embedding=kind, stream_attention=pattern), "stream_attention")
        for kind in BASELINES
        for pattern in ("EP-DP-EA-CP", "EP-DP-DA-CP", "EP-DP-CP-CA")
    ),
    *(
        (dict(ONE_STREAM, symbol_embedding=kind, **more), option)
        for kind in BASELINES
        for more, option in (
            (dict(fresh_symbols=3), "fresh_symbols"),
            (dict(stream_places="read"), "stream_places"),
        )
    ),
    (random(share_embeddings="decoder"), "share_embeddings"),
    *((random(symbol_code_dim=channels), "symbol_code_dim") for channels in (0, 96)),
]

TEXTS = [
    *((dict(stream_attention=text), "stream_attention") for text in ("EP-DP-CP", "DP-DP")),
    (dict(symbol_embedding="random"), "symbol_embedding"),
    (dict(symbol_embedding="canonical"), "stream_attention"),
    (
        dict(symbol_embedding="fixed", stream_attention="DP", stream_places="own"),
        "stream_places",
    ),
    (dict(fresh_symbols=0), "fresh_symbols"),
    (dict(decoder_layers=0), "decoder_layers"),
    (dict(position_gaps=3, decoder_positions="none"), "position_gaps"),
    (dict(dropout=1.0), "dropout"),
]

# The options are right, but not for these symbols.
MODELS = [
    (dict(activation_fn="swish"), "[a-z]", "activation_fn"),
    (random(symbol_code_dim=2), "[a-z]", "symbol_code_dim"),
    (random(), SORTS, "symbol_embedding"),
    (dict(fresh_symbols="c=2"), SORTS, "fresh_symbols"),
    (dict(fresh_symbols=2), SORTS, "fresh_symbols"),
    (dict(), "a=[a-d]\nb=[d-h]", "symbols"),  # two sorts match a token
]

PATTERNS = [
    *("[a-z", ".*", "(" * 4_900 + "a" + ")" * 4_900, "[a-z]|" * 2_000 + "b", "\ud800"),
    *("((a?){1000}){1000}", "(a{0}|(b{800,}){900})", "a{99999999999999999999}"),
    *("a=x\nx2", "a=x\na=y", "a=x\nb=("),
]

# Names of fresh symbols, whatever the pattern matches.
NAMES = ["a,&", "a,b,a", "a,b c", "a,b\n,c", "a,\u2028", "", "a,", "a,</s>", "a,<pad>"]
NAMES += ["a,madeupword0000"]

# The data of a checkpoint of a to h: base tokens and pattern.
DATA = [
    dict(base=("!", "&", "->", "U"), pattern=None),
    dict(base=[f"T{number}" for number in range(25)], pattern=None),
    dict(pattern="[a-z]|0|1"),
    dict(pattern=SORTS),
]

SEARCHES = [
    ({"beam_size": 0}, "beam"),
    ({"temperature": 0}, "temperature"),
    ({"max_len_b": -1}, "max_len_b"),
]


def search(options):
    dictionary = make_dictionary()
    model = build(dictionary, max_target_positions=4)
    generate([model], dictionary, make_sample(dictionary), **options)


def vote(*members, **options):
    models = [build(make_dictionary(**one), **more) for one, more in members]
    StreamSequenceGenerator(models, make_dictionary(), **options)


def load(data):
    state = Vocabulary(make_dictionary()).state_dict()
    Vocabulary(make_dictionary(**data)).load_state_dict(state)


def number_names(rest):
    FreshSymbols("v=1", TokenTable(("a",), f"v=[ab]\nw={rest}"), None)


REFUSED = [
    *((partial(check, ModelConfig(**options)), name) for options, name in CONFIGS),
    *((partial(check, LanguageModelConfig(**options)), name) for options, name in TEXTS),
    *(
        (partial(lambda o, p: make_model(make_dictionary(pattern=p), **o), options, pattern), name)
        for options, pattern, name in MODELS
    ),
    *((partial(SymbolPattern, pattern), "symbols") for pattern in PATTERNS),
    *(
        (partial(FreshSymbols, 2, TokenTable(("&", "a"), r"[^<&]*"), names), "fresh_names")
        for names in NAMES
    ),
    *((partial(number_names, rest), "fresh_names") for rest in ("[^<].+", r"\w*\d")),
    *((partial(load, data), "symbols") for data in DATA),
    *((partial(search, options), name) for options, name in SEARCHES),
    (partial(vote, ({}, {}), (dict(base=("!", "&", "0")), {})), "path"),
    (partial(vote, ({}, dict(fresh_symbols=1)), ({}, dict(fresh_symbols=2))), "path"),
    (partial(vote, ({}, {}), lm_model=object()), "lm_path"),
]


@pytest.mark.parametrize("call, option", REFUSED, ids=[str(n) for n in range(len(REFUSED))])
def test_one_line_names_the_parameter_to_change(call, option):
    with pytest.raises(UserError) as error:
        call()
    text = str(error.value)
    assert len(text.splitlines()) == 1 and option in text.rpartition("; change ")[2].split(" or ")


@pytest.mark.parametrize(
    "options",
    [
        {"search_strategy": DiverseBeamSearch(make_dictionary(), 2, 0.5)},
        {"no_repeat_ngram_size": 2},
    ],
    ids=lambda options: "-".join(options),
)
def test_searches_of_fairseq_that_streams_lack(options):
    with pytest.raises(UserError, match="not supported with symbols"):
        search(options)


def test_what_is_refused_is_allowed_elsewhere():
    model = make_model(encoder_embed_dim=21, encoder_positions="none", decoder_positions="none")
    assert model.encoder.embed_tokens.weight.size(1) == 21
    for kind in BASELINES:
        make_model(symbol_embedding=kind, stream_attention="DP-CP", fresh_symbols="0")
    SymbolPattern("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|v{1,60000}")
