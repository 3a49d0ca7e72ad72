"""What is wrong with a file is said in one sentence with the line, wherever it is read.

Every entry point is given the same three sentence pairs with one fault in the source.
"""

import fairseq_cli.preprocess
import pytest
from command_line import PLUG_IN, UNVALIDATED, preprocess, run, sit, train

from sit_fairseq.errors import UserError

SOURCES, TARGETS = [b"& a b", b"! a", b"a"], [b"a 1 b 1", b"a 0", b"a 1"]


def joined(lines, line_end=b"\n"):
    return b"".join(line + line_end for line in lines)


def second_line(text):
    return joined([SOURCES[0], text, SOURCES[2]])


FAULTS = {
    "Windows": joined(SOURCES, b"\r\n"),
    "unbalanced": second_line(b"& a"),
    "not UTF-8": second_line(b"! \xe9"),
    "byte order mark": b"\xef\xbb\xbf" + joined(SOURCES),
    "carriage return": second_line(b"! a\ra"),
}


def judge(folder):
    sit("judge", "prop", folder / "x.src", folder / "x.tgt", "--workers", 0)


def exclude(folder):
    options = ("--size", 5, "--max-length", 5, "--workers", 1)
    sit("generate", "prop", folder / "new", *options, "--exclude", folder / "x")


def rename(folder):
    options = ("--symbols", "[a-z]", "--names", "p,q,r,s")
    sit("rename", folder / "x", folder / "new", *options)


def preprocess_with_the_task(folder):
    sides = ("-s", "src", "-t", "tgt", "--joined-dictionary", "--trainpref", folder / "x")
    run(fairseq_cli.preprocess, *PLUG_IN, *sides, "--destdir", folder / "bin")


def training(folder):
    """Training on what a plain fairseq-preprocess has made of the files."""
    preprocess(folder / "bin", "--trainpref", folder / "x")
    options = ("--max-update", 1, *UNVALIDATED, "--no-save")
    train(folder / "bin", folder / "model", *options)


MALFORMED = {"unbalanced": "Line 2 of .*x.src"}
NO_TEXT = {
    "not UTF-8": "Line 2 of .*x.src",
    "byte order mark": "Line 1 of .*x.src",
    "carriage return": "Line 2 of .*x.src",
}

# What each entry point says of some faults. It reads files by functions whose own tests have all of
# them: tests/logic/test_syntax.py, and of what fairseq-preprocess has made
# tasks/test_sentences.py and test_stream_dictionary.py.
ENTRIES = {
    "judge": (judge, {**MALFORMED, **NO_TEXT}),
    "generate": (exclude, {**MALFORMED, **NO_TEXT}),
    "rename": (rename, NO_TEXT),  # sentences of any kind
    "preprocess": (preprocess_with_the_task, NO_TEXT),  # likewise
    "training": (
        training,
        {
            "unbalanced": "line 2 of the train source is not one formula",
            "byte order mark": ".*dict.src.txt is no dictionary .* as of a text with a byte order mark",
            # fairseq-preprocess itself takes it for the end of a line.
            "carriage return": "the train split .* the same number of examples",
        },
    ),
}
FAULTS_OF = {
    "preprocess": ["Windows", "not UTF-8", "byte order mark", "carriage return"],
    "training": ["Windows", "unbalanced", "byte order mark", "carriage return"],
}
CASES = [
    (entry, fault)
    for entry in ENTRIES
    for fault in FAULTS_OF.get(entry, ["Windows", "unbalanced", "not UTF-8"])
]


@pytest.mark.parametrize("entry, fault", CASES)
def test_fault(entry, fault, tmp_path):
    (tmp_path / "x.src").write_bytes(FAULTS[fault])
    (tmp_path / "x.tgt").write_bytes(joined(TARGETS))
    action, messages = ENTRIES[entry]
    if fault not in messages:
        action(tmp_path)
        return
    with pytest.raises(UserError, match=f"^{messages[fault]}[^\n]*$"):
        action(tmp_path)
    assert not list(tmp_path.glob("new*"))
