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


UNBALANCED, NO_TEXT, MARK = ("unbalanced", 2), ("not UTF-8", 2), ("byte order mark", 1)
RETURN = ("carriage return", 2)

# Faults that each entry point tells, with their line. It reads files by functions whose own tests have
# all of them: storage/test_files.py, and tests/tasks for what fairseq-preprocess has made.
ENTRIES = {
    judge: [UNBALANCED, NO_TEXT],
    exclude: [UNBALANCED, NO_TEXT],
    rename: [NO_TEXT],  # sentences of any kind
    preprocess_with_the_task: [NO_TEXT, MARK, RETURN],  # likewise
}
# What training says; fairseq-preprocess itself takes a carriage return for the end of a line.
TRAINING = {
    "unbalanced": "line 2 of the train source",
    "byte order mark": "dict.src.txt .*byte order mark",
    "carriage return": "the same number of examples",
}
CASES = [
    (entry, fault, f"Line {line} of .*x.src") for entry in ENTRIES for fault, line in ENTRIES[entry]
]
CASES += [(training, *case) for case in TRAINING.items()]


def write(folder, fault):
    (folder / "x.src").write_bytes(FAULTS[fault])
    (folder / "x.tgt").write_bytes(joined(TARGETS))


@pytest.mark.parametrize("entry, fault, message", CASES)
def test_a_fault_is_told(entry, fault, message, tmp_path):
    write(tmp_path, fault)
    with pytest.raises(UserError, match=f"^[^\n]*{message}[^\n]*$"):
        entry(tmp_path)
    assert not list(tmp_path.glob("new*"))


@pytest.mark.parametrize("entry", [*ENTRIES, training])
def test_lines_of_windows_are_read(entry, tmp_path):
    write(tmp_path, "Windows")
    entry(tmp_path)
