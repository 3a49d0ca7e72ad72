"""SentencePiece models that keep interchangeable tokens whole."""

import re
import shutil

import fairseq_cli.train
import pytest
from command_line import PLUG_IN, TRAINING, UNVALIDATED, interactive, preprocess, run, sit

from sit_fairseq.errors import UserError


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    prefix = tmp_path_factory.mktemp("entities") / "train"
    sit("generate", "entities", prefix, "--size", 400, "--seed", 3)
    return prefix


def lines(path):
    return path.read_text(encoding="utf-8").splitlines()


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
            *(text.with_suffix(side), directory / "pieces" / f"train{side}"),
        )
    return directory / "pieces" / "train"


def test_symbols_stay_whole(text, pieces):
    for side in (".src", ".tgt"):
        for plain, split in zip(lines(text.with_suffix(side)), lines(pieces.with_suffix(side))):
            whole = [token for token in plain.split() if token.startswith("<ent")]
            assert [piece for piece in split.split() if "ent" in piece and "<" in piece] == whole
            assert split.replace(" ", "").replace("▁", " ").strip() == plain


def test_the_same_text_gives_the_same_model_wherever_it_lies(text, pieces, tmp_path):
    sources = [shutil.copy(text.with_suffix(side), tmp_path) for side in (".src", ".tgt")]
    options = ("--vocab-size", 90, "--symbols", "<ent0>..<ent30>")
    sit("sentencepiece", *sources, "--model-prefix", tmp_path / "new" / "spm", *options)
    for ending in (".model", ".vocab"):
        made = [
            path.with_suffix(ending)
            for path in (pieces.parents[1] / "spm", tmp_path / "new" / "spm")
        ]
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
        *("--bpe", "sentencepiece", "--sentencepiece-model", pieces.parents[1] / "spm.model"),
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
