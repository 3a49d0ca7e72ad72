"""examples/entities: what sentences mean, and pieces that keep interchangeable tokens whole."""

import re

import fairseq_cli.train
import pytest
from command_line import PLUG_IN, TRAINING, UNVALIDATED, interactive, preprocess, run

from examples.entities import pieces
from examples.entities.sentences import FEW, SPLITS, UNSEEN, key, sentences
from sit_fairseq.datasets.pair_files import write_pairs

ENTITY = re.compile(r"<ent\d+>")


@pytest.fixture(scope="module")
def meanings():
    return dict(sentences(400, 3, [*FEW, "<ent4>"], 1, 6))


def test_order_of_events_and_voices_are_resolved(meanings):
    kinds = set()
    for source, target in meanings.items():
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


def test_no_sentence_is_a_renaming_of_another_or_of_training():
    train = {key(source) for source, _ in sentences(*SPLITS["train"])}
    more = [source for source, _ in sentences(*SPLITS["more"], exclude=train)]
    assert len(train) == 8000 and len({*train, *map(key, more)}) == 8500
    for source in more:
        found = set(ENTITY.findall(source))
        assert len(found) in (5, 6) and found <= set(UNSEEN)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("entities")
    write_pairs(str(folder / "text" / "train"), sentences(400, 3, FEW, 1, 4))
    pieces.main(folder)
    return folder


def lines(path):
    return path.read_text(encoding="utf-8").splitlines()


def test_symbols_stay_whole(folder):
    for side in ("src", "tgt"):
        texts = lines(folder / "text" / f"train.{side}")
        for plain, split in zip(texts, lines(folder / f"train.{side}"), strict=True):
            whole = [token for token in plain.split() if token.startswith("<ent")]
            assert [piece for piece in split.split() if "ent" in piece and "<" in piece] == whole
            assert split.replace(" ", "").replace("▁", " ").strip() == plain


def test_interactive_reads_and_prints_plain_text_with_symbols_never_seen(folder, tmp_path, capsys):
    data = folder / "train"
    data = preprocess(tmp_path / "bin", "--trainpref", data, "--validpref", data)
    run(
        fairseq_cli.train,
        *(data, "--save-dir", tmp_path / "model", "--symbols", "<ent[0-9]+>", *PLUG_IN),
        *(*TRAINING, "--encoder-positions", "rope", "--max-update", 2, *UNVALIDATED),
    )
    capsys.readouterr()
    interactive(
        *(data, tmp_path / "model" / "checkpoint_last.pt", ["<ent27> called <ent30>"], tmp_path),
        *("--bpe", "sentencepiece", "--sentencepiece-model", folder / "spm.model"),
        *("--max-len-b", 20),
    )
    printed = capsys.readouterr().out
    assert re.search(r"^S-0\t▁ <ent27> ▁call.* ▁ <ent30>$", printed, re.M)
    detokenised = re.search(r"^D-0\t\S+\t(.*)$", printed, re.M).group(1)
    assert "▁" not in detokenised
    assert set(re.findall(r"<ent\d+>", detokenised)) <= {"<ent27>", "<ent30>"}
