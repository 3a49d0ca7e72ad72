"""Files of fairseq's formats that are not what they should be end in one sentence each."""

import shutil
import struct

import fairseq_cli.eval_lm
import pytest
from command_line import PLUG_IN, UNVALIDATED, generate, preprocess, preprocess_lines, run, train

from sit_fairseq.errors import UserError


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Binarised data and a model of one update."""
    root = tmp_path_factory.mktemp("malformed")
    lines = ["& a ! b", "! c", "| & a b c"], ["a 1 b 0", "c 0", "c 1"]
    data = preprocess_lines(root, *lines, split="valid")
    return data, train(data, root / "model", "--max-update", 1, *UNVALIDATED)


def refused(command, *fragments):
    """Checks that a command ends in one sentence with these words."""
    with pytest.raises(UserError) as error:
        command()
    message = str(error.value)
    assert "\n" not in message
    for fragment in fragments:
        assert str(fragment) in message, message


def commands(data, checkpoint, tmp_path):
    """Everything that reads a whole data directory."""
    once = ("--max-update", 1, *UNVALIDATED)
    yield lambda: train(data, tmp_path / "out", *once)
    yield lambda: generate(data, checkpoint, "--gen-subset", "train", "--max-len-b", 3)


DICTIONARIES = {
    "empty token": b"& 2\n 3\n",
    "no count": b"& 2\na\n",
    "count that is no number": b"& 2\na many\n",
    "nan": b"& 2\na nan\n",
    "inf": b"& 2\na inf\n",
    "fraction": b"& 2\na 1.5\n",
    "negative": b"& 2\na -1\n",
    "huge": b"& 2\na 1" + b"0" * 5000 + b"\n",
    "twice": b"& 2\na 2\na 1\n",
    "blank line": b"& 2\n\na 1\n",
    "flag alone": b"#fairseq:overwrite\n",
    "not UTF-8": b"& 2\n\xff\xfe 1\n",
    "latin": "& 2\né 1\n".encode("latin-1"),
    "UTF-16": "& 2\na 1\n".encode("utf-16"),
    "zeros": b"\0" * 100,
    "cut": b"& 2\na",
    "binary": b"\x80\x04\x95" + bytes(range(256)),
}


@pytest.mark.parametrize("content", list(DICTIONARIES.values()), ids=list(DICTIONARIES))
def test_malformed_dictionaries(trained, tmp_path, content):
    data, checkpoint = trained
    broken = shutil.copytree(data, tmp_path / "bin")
    for side in ("src", "tgt"):
        (broken / f"dict.{side}.txt").write_bytes(content)
    for command in commands(broken, checkpoint, tmp_path):
        refused(command, broken / "dict.src.txt")


def test_dictionary_that_is_empty(trained, tmp_path):
    data, checkpoint = trained
    broken = shutil.copytree(data, tmp_path / "bin")
    for side in ("src", "tgt"):
        (broken / f"dict.{side}.txt").write_bytes(b"")
    first, second = commands(broken, checkpoint, tmp_path)
    refused(first, "no token", broken)
    refused(second, "token number", "run fairseq-preprocess again")


def set_at(offset: int, format_: str, *values):
    def change(content: bytes) -> bytes:
        packed = struct.pack(format_, *values)
        return content[:offset] + packed + content[offset + len(packed) :]

    return change


# An index: 9 bytes of magic, 8 of version, 1 of type, 8 of length, then 3 sizes of 4 bytes, and 3
# places of 8 bytes.
INDICES = {
    "empty": lambda content: b"",
    "magic alone": lambda content: content[:9],
    "cut in the length": lambda content: content[:20],
    "cut in the sizes": lambda content: content[:30],
    "cut in the places": lambda content: content[:-1],
    "wrong magic": lambda content: b"NOTANIDX!" + content[9:],
    "other version": set_at(9, "<Q", 7),
    "unknown type": set_at(17, "<B", 99),
    "type of fractions": set_at(17, "<B", 6),
    "other type": set_at(17, "<B", 5),
    "length beyond the file": set_at(18, "<Q", 4),
    "huge length": set_at(18, "<Q", 1 << 62),
    "huge size": set_at(26, "<i", 2**31 - 1),
    "negative size": set_at(26, "<i", -3),
    "size zero": set_at(26, "<i", 0),
    "place beyond the data": set_at(38 + 8, "<q", 1 << 40),
    "place before the data": set_at(38 + 8, "<q", -8),
    "place within a token": set_at(38 + 8, "<q", 1),
    "text": lambda content: b"& a ! b\n! c\n",
}


DATA = {
    "empty": lambda content: b"",
    "cut in a token": lambda content: content[:-1],
    "cut": lambda content: content[: len(content) // 2],
    "longer": lambda content: content + content,
}


BINARISED = {f"{name} idx": ("idx", change) for name, change in INDICES.items()}
BINARISED.update({f"{name} bin": ("bin", change) for name, change in DATA.items()})


@pytest.mark.parametrize("side", ["src", "tgt"])
@pytest.mark.parametrize("ending, change", list(BINARISED.values()), ids=list(BINARISED))
def test_malformed_data(trained, tmp_path, ending, change, side):
    data, checkpoint = trained
    broken = shutil.copytree(data, tmp_path / "bin")
    file = broken / f"train.src-tgt.{side}.{ending}"
    file.write_bytes(change(file.read_bytes()))
    for command in commands(broken, checkpoint, tmp_path):
        refused(command, file.with_suffix(""), "fairseq-preprocess")


@pytest.fixture(scope="module")
def older(trained, tmp_path_factory):
    """The same data in fairseq's format before the one it maps into memory."""
    root, texts = tmp_path_factory.mktemp("older"), ("a ! b\n! c\n", "a 1\nc 0\n")
    for side, text in zip(("src", "tgt"), texts):
        (root / f"text.{side}").write_text(text.replace("a ! b", "& a ! b"))
    words = ("--dataset-impl", "lazy", "--srcdict", trained[0] / "dict.src.txt")
    words = (*words, "--joined-dictionary", "--trainpref", root / "text")
    return preprocess(root / "bin", *words)


LAZY = {
    "empty": ("idx", lambda content: b""),
    "cut": ("idx", lambda content: content[:-8]),
    "other version": ("idx", set_at(8, "<Q", 7)),
    "other width": ("idx", set_at(24, "<Q", 8)),
    "huge length": ("idx", set_at(32, "<Q", 1 << 62)),
    "places": ("idx", set_at(48 + 8 * 4, "<Q", 1)),
    "data cut": ("bin", lambda content: content[:-1]),
}


@pytest.mark.parametrize("ending, change", list(LAZY.values()), ids=list(LAZY))
def test_malformed_data_of_the_older_format(trained, older, tmp_path, ending, change):
    broken = shutil.copytree(older, tmp_path / "bin")
    for file in list(broken.glob("train.*")):  # fairseq loads both parts of a training split
        shutil.copy(file, broken / file.name.replace("train", "train1"))
    file = broken / f"train1.src-tgt.tgt.{ending}"
    file.write_bytes(change(file.read_bytes()))
    for command in commands(broken, trained[1], tmp_path):
        refused(command, file.with_suffix(""), "fairseq-preprocess")


def test_control_whole_files_are_read(trained, older, tmp_path):
    for folder in (trained[0], older):
        for command in commands(folder, trained[1], tmp_path / folder.parent.name):
            command()


def test_text_that_is_none(trained, tmp_path):
    data, checkpoint = trained
    raw = shutil.copytree(data, tmp_path / "bin")
    for side in ("src", "tgt"):
        (raw / f"train.src-tgt.{side}").write_bytes(b"a 1\n\xff\n")
    once = ("--max-update", 1, *UNVALIDATED, "--dataset-impl", "raw")
    refused(lambda: train(raw, tmp_path / "out", *once), "train split", "no text in UTF-8")


def test_sentences_without_an_end(trained, tmp_path):
    data, checkpoint = trained
    broken = shutil.copytree(data, tmp_path / "bin")
    file = broken / "train.src-tgt.src.bin"
    file.write_bytes(b"\4\0" * (file.stat().st_size // 2))
    for command in commands(broken, checkpoint, tmp_path):
        refused(command, "line 1 of the train source does not end in </s>")


def test_no_heads(trained, tmp_path):
    for side in ("encoder", "decoder"):
        for heads in (0, -1):
            options = (f"--{side}-attention-heads", heads, "--max-update", 1)
            refused(lambda: train(trained[0], tmp_path, *options), f"--{side}-attention-heads")


def test_language_model_evaluation_is_refused(trained):
    data, checkpoint = trained
    words = (data, "--path", checkpoint, *PLUG_IN, "--gen-subset", "valid", "--cpu")
    refused(lambda: run(fairseq_cli.eval_lm, *words), "fairseq-eval-lm", "fairseq-validate")
