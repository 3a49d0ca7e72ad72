"""The baseline with fixed embeddings becomes a model over streams: the paper's experiment."""

import random
import re
import shlex
from types import SimpleNamespace

import fairseq_cli.train
import pytest
import torch
from command_line import IN_PROCESS, PLUG_IN, UNVALIDATED, preprocess, printed, run, sit, train
from conftest import make_dictionary, random_formula, redraw
from texts import make_language_model
from vanilla_models import REGEX, SYMBOLS, edited, failing, load

from sit_fairseq.conversion import verification
from sit_fairseq.conversion.original import read_baseline
from sit_fairseq.datasets.pair_files import write_pairs
from sit_fairseq.errors import UserError
from sit_fairseq.model import Model
from sit_fairseq.models.baselines import FixedVocabulary
from sit_fairseq.models.config import ModelConfig
from sit_fairseq.models.transformer import SymbolInvariantTransformer
from sit_fairseq.symbols.prefix import OwnArity
from sit_fairseq.tasks.file_options import read_state

SIZES = [
    *("--encoder-embed-dim", 16, "--encoder-ffn-embed-dim", 24, "--encoder-layers", 2),
    *("--encoder-attention-heads", 2, "--decoder-layers", 1, "--decoder-attention-heads", 4),
    *("--max-source-positions", 60, "--max-target-positions", 40, "--stream-attention", "EP-DP-CP"),
]
# Options of fairseq-train beside --symbol-embedding fixed.
KINDS = {
    "paper": [
        *("--scale-cosine-embedding", "--layer-norm-eps", 1e-6),
        *("--max-update", 30, "--lr", 0.01, "--dropout", 0),
    ],
    "projected": [
        *("--tree-depth", 12, "--share-embeddings", "none", "--decoder-embed-dim", 24),
        *("--encoder-normalize-before", "--layernorm-embedding"),
    ],
    "linear": [
        *("--output-head", "linear", "--criterion", "cross_entropy", "--share-embeddings"),
        *("decoder", "--encoder-positions", "rope", "--decoder-positions", "learned"),
        *("--decoder-normalize-before", "--no-decoder-final-norm"),
    ],
}


@pytest.fixture(scope="module")
def formulas(tmp_path_factory) -> SimpleNamespace:
    """Formulas and assignments; ``test`` has only the symbol a, one deeper than some positions."""
    root, rng = tmp_path_factory.mktemp("formulas"), random.Random(1)
    splits = {"train": [], "test": [("! " * 9 + "a", "a 1")]}
    for index in range(60):
        split = "train" if index < 40 else "test"
        # Mostly one symbol, so that the baseline soon answers with no other one.
        symbols = SYMBOLS if split == "train" and index % 4 == 0 else ["a"]
        source = f"& {rng.choice(symbols)} {random_formula(rng, symbols, 3)}"
        names = sorted(set(source.split()) & set(symbols))
        splits[split].append((source, " ".join(f"{n} {rng.choice('01')}" for n in names)))
    for split, pairs in splits.items():
        write_pairs(str(root / split), pairs)
    data = preprocess(root / "bin", "--trainpref", root / "train", "--testpref", root / "test")
    return SimpleNamespace(root=root, data=data)


@pytest.fixture(scope="module")
def baseline(formulas, tmp_path_factory):
    """Gives the checkpoint of a baseline, trained when it is first asked for."""
    root, trained = tmp_path_factory.mktemp("baselines"), {}

    def checkpoint(kind: str):
        if kind not in trained:
            options = ("--symbol-embedding", "fixed", *SIZES, *UNVALIDATED)
            options = (*options, "--no-epoch-checkpoints", "--max-update", 2, *KINDS[kind])
            trained[kind] = train(formulas.data, root / kind, *options, symbols=REGEX)
        return trained[kind]

    return checkpoint


@pytest.mark.parametrize("kind", KINDS)
def test_converted_baseline_equals_the_original(baseline, convert, kind):
    before = load(baseline(kind))
    path, printed = convert(baseline(kind), "--verify")
    assert "compared on 21 sentences whose only symbol is 'a', from the test" in printed
    after = load(path)
    options, old = after["cfg"]["model"], before["cfg"]["model"]
    changed = {name for name in old if options[name] != old[name]}
    assert changed == {"_name", "symbol_embedding"} and options["symbol_embedding"] == "streams"
    model = after["model"]
    for name, value in before["model"].items():
        if not re.search(r"\.vocabulary\.|(embed_tokens|output_projection)\.weight", name):
            assert torch.equal(model[name], value), name
    scales = [name for name in model if "output_scale" in name]
    assert scales == ([] if kind == "linear" else ["decoder.output_scale.scale"])
    assert ("train with --criterion adacos" in printed) == (kind != "linear")


def test_rows_are_those_of_the_names(baseline, convert):
    """The baseline's rows are sorted by token: operators, then constants and symbols mixed."""
    path, _ = convert(baseline("projected"), "--actual", "d", "--placeholder", "b")
    rows = ["<s>", "<pad>", "</s>", "<unk>", *sorted("& | ! xor <-> 0 1".split())]
    old = rows[:4] + sorted([*rows[4:], *SYMBOLS])
    before, after = load(baseline("projected"))["model"], load(path)["model"]
    for name in ("encoder.embed_tokens", "decoder.embed_tokens", "decoder.output_projection"):
        weight = after[f"{name}.weight"]
        assert weight.size(0) == len(rows) + 2
        for row, token in zip(weight, [*rows, "d", "b"]):
            assert torch.equal(row, before[f"{name}.weight"][old.index(token)])


def test_fine_tuning_under_adacos(baseline, convert, formulas, tmp_path):
    out, printed = convert(baseline("paper"), "--add", "EA,DA", "--verify")
    assert "compared on 21 sentences" in printed
    assert "--stream-attention EP-DP-EA-DA-CP" in printed
    arguments = shlex.split(printed.split("fairseq-train builds this model with\n")[1])
    before = load(out)["model"]
    scale = "decoder.output_scale.scale"
    assert torch.equal(before[scale], load(baseline("paper"))["model"][scale])
    options = ("--criterion", "adacos", "--optimizer", "adam", "--lr", 0.001, "--batch-size", 20)
    run(
        fairseq_cli.train,
        *(formulas.data, "--save-dir", tmp_path / "tuned", *PLUG_IN[:2], *arguments, *options),
        *(*IN_PROCESS, *UNVALIDATED, "--no-epoch-checkpoints", "--finetune-from-model", out),
        *("--max-update", 2),
    )
    tuned = load(tmp_path / "tuned" / "checkpoint_last.pt")
    assert tuned["optimizer_history"][-1]["num_updates"] == 2
    for name in ("encoder.embed_tokens.weight", "decoder.layers.0.fc1.weight", scale):
        assert not torch.equal(tuned["model"][name], before[name]), name


def test_data_need_not_be_there_any_more(baseline, convert, formulas, tmp_path, monkeypatch):
    monkeypatch.chdir(formulas.data)  # which no name is not

    def moved(state):
        state["cfg"]["task"].update(data="", source_lang="src", target_lang="tgt")

    path = edited(baseline("projected"), tmp_path / "moved.pt", moved)
    out, printed = convert(path, "--verify")
    assert load(out)["cfg"]["task"]["data"] == ""
    assert "compared on 256 sentences" in printed and "from the" not in printed
    _, printed = convert(path, "--verify", "--data", formulas.data, out="data.pt")
    assert "compared on 21 sentences" in printed and "compared on 256 sentences" in printed
    failing(lambda: convert(path, "--data", tmp_path / "none", out="x.pt"), "no such directory")


def test_sentences_of_data_with_another_dictionary(baseline, formulas, tmp_path):
    """Indices are those of the directory; tokens without a row are passed over."""
    for side, text in (("src", "! a\n& a 7\n| 1 a\n& a b\n| a\n"), ("tgt", "a 0\n" * 5)):
        (tmp_path / f"test.{side}").write_text(text)
    data = preprocess(
        tmp_path / "bin", "--trainpref", tmp_path / "test", "--testpref", tmp_path / "test"
    )
    path = str(baseline("paper"))
    original = read_baseline(path, read_state(path), data=str(data))
    dictionary = verification.StreamDictionary()
    dictionary.set_pattern(REGEX)
    (pairs, origin), (random_ones, _) = verification.sentences(original, dictionary, "a")
    assert [" ".join(pair.source) for pair in pairs] == ["! a", "| 1 a"]
    assert [" ".join(pair.target) for pair in pairs] == ["a 0", "a 0"]
    assert origin.startswith("the test split") and len(random_ones) == 256


def test_models_over_streams_are_refused(baseline, convert):
    out, _ = convert(baseline("projected"))
    failing(lambda: convert(out, out="twice.pt"), "stream.pt", "symbol_embedding = streams")


def test_files_that_do_not_fit_their_options(baseline, convert, tmp_path):
    def option(name, value):
        return lambda state: state["cfg"]["model"].__setitem__(name, value)

    def cut(state):
        name = "encoder.embed_tokens.weight"
        state["model"][name] = state["model"][name][:-1]

    def nameless(state):
        del state["model"]["encoder.embed_tokens.vocabulary.base_tokens"]

    for change, fragment in (
        (option("encoder_layers", 3), "encoder_layers 3"),
        (option("activation_fn", "swish"), "'swish' is none of relu"),
        (cut, "has 15 embeddings for 16 tokens"),
        (nameless, "lacks its base tokens"),
    ):
        path = edited(baseline("projected"), tmp_path / "in.pt", change)
        failing(lambda: convert(path), "in.pt", fragment)
    assert [path.name for path in tmp_path.iterdir()] == ["in.pt"]


def test_operators_of_ones_own_and_the_domain_come_along(tmp_path, capsys):
    one_stream = dict(symbol_embedding="fixed", stream_attention="EP-DP-CP", output_head="linear")
    dictionary = make_dictionary(symbols="abcd", base=("f", "g", "0"), pattern="[a-d]")
    vocabulary = FixedVocabulary(dictionary, 0, arity=OwnArity({"f": 2, "g": 1}))
    cfg = ModelConfig(
        encoder_embed_dim=24, encoder_ffn_embed_dim=40, encoder_layers=1, **one_stream
    )
    core = redraw(SymbolInvariantTransformer(cfg, vocabulary))
    Model([core], "my:DOMAIN").save(tmp_path / "fixed.pt")
    words = ("--symbols", "[a-d]", "--actual", "a", "--placeholder", "b", "--verify")
    sit("convert", tmp_path / "fixed.pt", tmp_path / "out.pt", *words)
    model = Model.load(tmp_path / "out.pt")
    good, bad = model.answer(["f a g a", "f a"], max_length=5)
    assert good.text and "not one formula" in bad.reason and model.domain == "my:DOMAIN"


def test_a_language_model_is_not_converted(tmp_path):
    Model([make_language_model().float()], "prop").save(tmp_path / "text.pt")
    words = ("--symbols", "[a-h]", "--actual", "a", "--placeholder", "b")
    with pytest.raises(UserError, match="text.pt is a language model"):
        sit("convert", tmp_path / "text.pt", tmp_path / "out.pt", *words)


def test_operators_are_no_symbols_of_formulas(baseline, convert):
    symbols = ("--symbols", "[a-e]|xor")
    failing(lambda: convert(baseline("projected"), *symbols), "matches the operator 'xor'")
    convert(baseline("linear"), *symbols)
