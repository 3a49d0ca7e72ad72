"""A model in files: voters share what is theirs together, and saved and loaded is the same."""

from pathlib import Path

import numpy
import pytest
import torch
from command_line import interactive, printed
from conftest import PACKAGE, make_dictionary, make_model, redraw
from texts import SORTS, TEXTS, make_language_model

from sit_fairseq.errors import UserError
from sit_fairseq.export import folders
from sit_fairseq.export.for_transformers import folder as hub
from sit_fairseq.model import Model
from sit_fairseq.models.fairseq_adapter import SymbolInvariantTransformerModel
from sit_fairseq.symbols.saved_tokens import saved_vocabulary
from sit_fairseq.tasks.file_options import read_state
from sit_fairseq.tasks.stream_dictionary import StreamDictionary

CHECKPOINTS = PACKAGE.parent / "checkpoints"

# What each shipped model is asked, in names that no file knows.
ASKED = {
    "binding": ["f ( let x7 = x9 ; g ( x7 , h ) )", "g ( h , x1 )"],
    "converted": ["& q ! r", "<-> | q r ! s"],
    "planning": [
        "ferry: ferry.at a71 b9 ferry.at? a71 b40 ferry.at-ferry b9 ferry.empty-ferry",
        "blocksworld: blocksworld.on a71 a9 blocksworld.clear a71 blocksworld.handempty",
    ],
    "prop": ["& req ! grant", "<-> | req grant ! bus"],
}


def own(name):
    """A model made in Python, untrained: the kinds that nobody ships."""
    made = {
        "random": lambda: make_model(
            symbol_embedding="random", symbol_code_dim=6, stream_attention="EP-DP-CP"
        ),
        "fresh": lambda: make_model(fresh_symbols=2, fresh_names="k,l,m"),
        "numbered": lambda: make_model(fresh_symbols=2),
        "text": lambda: make_language_model(fresh_names="k,l,m,n,o,p,q").float(),
        "text of sorts": lambda: make_language_model(
            make_dictionary(pattern=SORTS), fresh_symbols="odd=3,even=4"
        ).float(),
    }
    return redraw(made[name]())


OWN = ("random", "fresh", "numbered", "text", "text of sorts")


@pytest.fixture
def path_of(tmp_path):
    """The path of a model by its name."""

    def find(name):
        if name not in OWN:
            return CHECKPOINTS / name
        core = own(name)
        core.vocabulary.dictionary.forget_after(len(core.vocabulary.row_of_index))
        if not (tmp_path / name).exists():
            Model([core], "prop").save(tmp_path / name)
        return tmp_path / name

    return find


def facts(model, name):
    """All that users see of a model: what it knows, and says to the last bit."""
    asked = ASKED.get(name, ["& q ! r", "| q ! q", "xor | q r & s 1"])
    if "text" in name:
        found = model.complete([*TEXTS, ""], beam=2, max_length=5)
        assert model.complete([""], max_length=None) == model.complete(
            [""], max_length=model.longest
        )
    else:
        found = model.answer(asked, beams=(2,), max_length=5)
    assert any(one.text for one in found)
    tokens, fresh = model.core.vocabulary.dictionary, model.core.vocabulary.fresh
    with tokens.names_of_one_call():
        names = [tokens[index] for index in fresh.name([])] if fresh else []
    return found, names, model.symbols, model.domain, model.fresh_symbols, model.base_tokens


@pytest.mark.parametrize("name", ["binding", "planning", *OWN])
def test_a_model_that_votes_with_itself_answers_as_alone_to_the_bit(name, path_of):
    path = path_of(name)
    voters = [path] * (2 if name in ASKED else 3)
    assert facts(Model.load(*voters), name) == facts(Model.load(path), name)


def test_models_of_other_tokens_do_not_vote_together(path_of):
    for others in (["prop", "ltl"], ["prop", "planning"], ["fresh", "prop"]):
        with pytest.raises(UserError, match="cannot vote as an ensemble"):
            Model.load(*map(path_of, others))
    with pytest.raises(UserError, match="an ensemble"):
        Model.load(*2 * [path_of("prop")]).save("nowhere")


@pytest.mark.parametrize("names", [["fresh", "numbered"], ["numbered", "fresh"]])
def test_voters_have_tokens_and_names_of_the_first(names, path_of):
    both = Model.load(*map(path_of, names))
    first, second = (model.vocabulary for model in both._models)
    assert second.dictionary is first.dictionary and second.fresh_names == first.fresh_names
    assert facts(both, "fresh")[1] == facts(Model.load(path_of(names[0])), "fresh")[1]


@pytest.mark.parametrize("name", ["planning", "prop", "fresh", "text"])
def test_where_tensors_are_made_by_default_does_not_matter(name, path_of):
    """As on a machine whose default device is a GPU; one without memory finds all that forget it."""
    path = path_of(name)
    expected = facts(Model.load(path), name)
    with torch.device("meta"):
        assert facts(Model.load(path), name) == expected


LOADED = [
    *((name, {}) for name in ("planning", "converted", *OWN)),
    ("prop", dict(symbols=r"[qr]|<\d+>|req|grant|bus")),
    ("prop", dict(fresh_symbols=numpy.int64(2), fresh_names="k,l")),
    ("binding", dict(fresh_names="x1,x2,x3,x4,x5,x6,x7,x8,x9")),
    ("binding", dict(symbols="[a-eijklmnxyz][0-9]*", fresh_names="z1,z2,z3,z4,z5,z6")),
    ("planning", dict(fresh_symbols="a=2,b=1")),
    ("fresh", dict(fresh_names="x,y,z", fresh_symbols=3)),
    ("text", dict(fresh_symbols=7)),
    ("text", dict(symbols="[a-z]", fresh_names="z,y,x,w,v,u,t")),
    ("text of sorts", dict(fresh_symbols="odd=4,even=5")),
]


@pytest.mark.parametrize("text", [False, True])
def test_a_base_token_may_look_like_a_fresh_symbol(text, tmp_path):
    dictionary = make_dictionary(base=("&", "|", "xor", "!", "0", "1", "v1"), pattern="[a-h]")
    make = make_language_model if text else make_model
    model = redraw(make(dictionary, fresh_symbols=9).float())
    Model([model], "prop").save(tmp_path / "model.pt")
    again = Model.load(tmp_path / "model.pt")
    assert "v1" in again.base_tokens
    wider = Model.load(tmp_path / "model.pt", symbols="[a-h]|x[0-9]").core.vocabulary
    assert "v1" not in {wider.dictionary[index] for index in wider.fresh.name([])}


def test_fresh_names_stay_if_a_new_pattern_matches_them(tmp_path):
    Model([redraw(make_model(fresh_symbols=2, fresh_names="e,f,g,h"))], "prop").save(tmp_path / "m")
    for symbols, names in (("[a-h]|x[0-9]", ["e", "f"]), ("[a-d]", ["v0", "v1"])):
        vocabulary = Model.load(tmp_path / "m", symbols=symbols).core.vocabulary
        assert [vocabulary.dictionary[index] for index in vocabulary.fresh.name([])] == names


def test_the_pattern_of_training_keeps_its_fresh_names():
    model = Model.load(CHECKPOINTS / "binding")
    again = Model.load(CHECKPOINTS / "binding", symbols=model.symbols)
    assert facts(again, "binding") == facts(model, "binding")


@pytest.mark.parametrize("name, options", LOADED)
def test_saved_and_loaded_is_the_same(name, options, path_of, tmp_path):
    if "text" in name and "fresh_symbols" in options:
        options = {**options, "fresh_names": ",".join("abcdefghijklmnop")}
    model = Model.load(path_of(name), **options)
    before = facts(model, name)
    model.save(tmp_path / "again")
    again = Model.load(tmp_path / "again")
    assert facts(again, name) == before
    again.save(tmp_path / "twice")
    once, twice = (torch.load(tmp_path / file, weights_only=True) for file in ("again", "twice"))
    assert once["cfg"] == twice["cfg"]
    assert once["cfg"]["task"]["symbols"] == saved_vocabulary(once["model"])[1]
    torch.testing.assert_close(once["model"], twice["model"], rtol=0, atol=0)


def test_fairseq_reads_what_was_saved_with_its_names_and_pattern(tmp_path, capsys):
    options = dict(
        symbols="[a-eijk][0-9]*|name[0-9]", fresh_names="name1,name2,name3,name4,name5,name6"
    )
    model = Model.load(CHECKPOINTS / "binding", **options)
    model.save(tmp_path / "model.pt")
    asked = ["let name8 = a ; g ( name8 , h )"]
    (answer,) = model.answer(asked, max_length=20)
    options = ("--beam", 3, "--max-len-b", 20, "--source-lang", "src", "--target-lang", "tgt")
    interactive(CHECKPOINTS / "binding", tmp_path / "model.pt", asked, tmp_path, *options)
    assert printed(capsys.readouterr().out)[0].answers == [answer.text]
    assert "name" in answer.text


def test_a_path_is_a_text_or_a_path_of_a_file_or_a_folder(tmp_path):
    folder = CHECKPOINTS / "copy"
    for form in (str, Path):
        for place in (folder, folder / "model.pt"):
            assert Model.load(form(place)).answer(["a b"], max_length=3)[0].text == "a b"
            for wing, options in ((folders, {}), (hub, dict(beside=form(folder), code=False))):
                out = form(tmp_path / wing.__name__)
                written = Path(wing.export(Model.load(form(place)), out, **options))
                again = Model.load(form(written.parent))
                assert again.answer(["a b"], max_length=3)[0].text == "a b"
            card = (written.parent / "README.md").read_text()
            assert card.endswith((folder / "README.md").read_text())
            loaded = SymbolInvariantTransformerModel.from_pretrained(form(place))
            assert loaded.answer(["a b"], max_length=3)[0].text == "a b"
            assert read_state(form(place))["cfg"]["task"]["domain"] == "copying"
        assert len(StreamDictionary.load(form(folder / "dict.src.txt"))) >= 4
