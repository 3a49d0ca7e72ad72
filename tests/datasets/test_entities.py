"""Sentences about entities and the SentencePiece model that keeps entities whole."""

import re
import shutil

import fairseq_cli.train
import pytest
from command_line import PLUG_IN, TRAINING, UNVALIDATED, interactive, preprocess, run, sit

from sit_fairseq.datasets.names import parse_names
from sit_fairseq.errors import UserError

ENTITIES = "<ent0>..<ent4>"


def test_names_may_be_ranges():
    assert parse_names("<ent9>..<ent11>,<date>") == ["<ent9>", "<ent10>", "<ent11>", "<date>"]


@pytest.mark.parametrize("text", ["<a0>..<b3>", "a..b", "x,x", "x,", "a b", "<e3>..<e5>,<e4>"])
def test_names_that_make_no_sense_are_refused(text):
    with pytest.raises(UserError, match=re.escape(text)):
        parse_names(text)


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    prefix = tmp_path_factory.mktemp("entities") / "train"
    sit("generate", "entities", prefix, "--symbols", ENTITIES, "--size", 400, "--seed", 3)
    return prefix


def lines(path):
    return path.read_text(encoding="utf-8").splitlines()


def form(line):
    """A sentence up to renaming."""
    found = list(dict.fromkeys(re.findall(r"<ent\d+>", line)))
    return re.sub(r"<ent\d+>", lambda match: f"<{found.index(match.group())}>", line)


def test_there_are_no_renamings(text, tmp_path, capsys):
    old = {form(line) for line in lines(text.with_suffix(".src"))}
    assert len(old) == 400
    options = ("--symbols", "<ent10>..<ent29>", "--size", 600, "--seed", 4)
    sit("generate", "entities", tmp_path / "free", *options)
    assert old & {form(line) for line in lines(tmp_path / "free.src")}
    sit("generate", "entities", tmp_path / "new", *options, "--exclude", text)
    assert " 0 excluded" not in capsys.readouterr().out.splitlines()[-1]
    new = {form(line) for line in lines(tmp_path / "new.src")}
    assert len(new) == 600 and not old & new


def test_number_of_entities(tmp_path):
    options = ("--symbols", "<ent10>..<ent29>", "--size", 300, "--seed", 4)
    sit("generate", "entities", tmp_path / "more", *options, "--distinct-symbols", "5-6")
    numbers = {len(set(re.findall(r"<ent\d+>", line))) for line in lines(tmp_path / "more.src")}
    assert numbers == {5, 6}
    with pytest.raises(UserError, match="5-7: a sample has at most 6 different symbols"):
        sit("generate", "entities", tmp_path / "x", *options, "--distinct-symbols", "5-7")
    assert not (tmp_path / "x.src").exists()


def test_words_are_no_entities(tmp_path):
    with pytest.raises(UserError, match="'slept' is a word"):
        sit("generate", "entities", tmp_path / "x", "--symbols", "a,b,slept", "--size", 1)
    assert not list(tmp_path.iterdir())


def test_meaning_has_the_entities_of_its_sentence(text):
    pairs = list(zip(lines(text.with_suffix(".src")), lines(text.with_suffix(".tgt"))))
    assert len(pairs) == len({source for source, _ in pairs}) == 400
    for source, target in pairs:
        entities = [set(re.findall(r"<ent[0-4]>", side)) for side in (source, target)]
        assert entities[0] == entities[1] and entities[0]
        assert target.count("(") == target.count(")")


def test_order_of_events_and_voices_are_resolved(text):
    meaning = dict(zip(lines(text.with_suffix(".src")), lines(text.with_suffix(".tgt"))))
    kinds = set()
    for source, target in meaning.items():
        match = re.fullmatch(r"(<ent.>) was called by (<ent.>) after (<ent.>) slept", source)
        if match:
            called, caller, sleeper = match.groups()
            assert target == f"before ( sleep ( {sleeper} ) , call ( {caller} , {called} ) )"
            kinds.add("after")
        match = re.fullmatch(r"(<ent.>) bought (<ent.>) from (<ent.>)", source)
        if match:
            buyer, thing, seller = match.groups()
            assert target == f"sell ( {seller} , {thing} , {buyer} )"
            kinds.add("bought")
    assert kinds == {"after", "bought"}


def test_too_many_sentences_are_refused_and_write_nothing(tmp_path):
    with pytest.raises(UserError, match="lower --size"):
        sit("generate", "entities", tmp_path / "x", "--symbols", "a,b,c", "--size", 10**5)
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def pieces(text):
    directory = text.parent
    sit(
        "sentencepiece",
        *(text.with_suffix(".src"), text.with_suffix(".tgt"), "--model-prefix", directory / "spm"),
        *("--vocab-size", 90, "--symbols", "<ent0>..<ent30>"),
    )
    for side in (".src", ".tgt"):
        sit(
            *("sentencepiece", "--encode", directory / "spm.model"),
            *(text.with_suffix(side), directory / f"pieces{side}"),
        )
    return directory / "pieces"


def test_symbols_stay_whole(text, pieces):
    for side in (".src", ".tgt"):
        for plain, split in zip(lines(text.with_suffix(side)), lines(pieces.with_suffix(side))):
            whole = [token for token in plain.split() if token.startswith("<ent")]
            assert [piece for piece in split.split() if "ent" in piece and "<" in piece] == whole
            assert split.replace(" ", "").replace("▁", " ").strip() == plain


def test_the_same_text_gives_the_same_model_wherever_it_lies(text, pieces, tmp_path):
    sources = [shutil.copy(text.with_suffix(side), tmp_path) for side in (".src", ".tgt")]
    options = ("--vocab-size", 90, "--symbols", "<ent0>..<ent30>")
    sit("sentencepiece", *sources, "--model-prefix", tmp_path / "other", *options)
    for ending in (".model", ".vocab"):
        made = [path.with_suffix(ending) for path in (pieces.parent / "spm", tmp_path / "other")]
        assert made[0].read_bytes() == made[1].read_bytes()


def test_interactive_reads_and_prints_plain_text_with_symbols_never_seen(pieces, tmp_path, capsys):
    data = preprocess(tmp_path / "bin", "--trainpref", pieces, "--validpref", pieces)
    run(
        fairseq_cli.train,
        *(data, "--save-dir", tmp_path / "model", "--symbols", "<ent[0-9]+>", *PLUG_IN),
        *(*TRAINING, "--encoder-positions", "rope", "--max-update", 2, *UNVALIDATED),
    )
    capsys.readouterr()
    interactive(
        *(data, tmp_path / "model" / "checkpoint_last.pt", ["<ent27> called <ent30>"], tmp_path),
        *("--bpe", "sentencepiece", "--sentencepiece-model", pieces.parent / "spm.model"),
        *("--max-len-b", 20),
    )
    printed = capsys.readouterr().out
    assert re.search(r"^S-0\t▁ <ent27> ▁call.* ▁ <ent30>$", printed, re.M)
    detokenised = re.search(r"^D-0\t\S+\t(.*)$", printed, re.M).group(1)
    assert "▁" not in detokenised
    assert set(re.findall(r"<ent\d+>", detokenised)) <= {"<ent27>", "<ent30>"}


def test_bad_model_and_missing_options_are_explained(text, tmp_path):
    (tmp_path / "bad.model").write_bytes(b"no model")
    for arguments, message in (
        (
            ["--encode", tmp_path / "bad.model", text.with_suffix(".src"), tmp_path / "o"],
            "train one",
        ),
        (["--encode", tmp_path / "bad.model", text.with_suffix(".src")], "two files"),
        ([text.with_suffix(".src"), "--symbols", "a,b"], "--model-prefix"),
    ):
        with pytest.raises(UserError, match=message):
            sit("sentencepiece", *arguments)
    assert not (tmp_path / "o").exists()
