"""fairseq-interactive and answers in Python: a line that cannot be answered costs no other."""

import gc
import os
import re
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import fairseq_cli.interactive
import pytest
from command_line import (
    IN_PROCESS,
    PLUG_IN,
    ROOT,
    interactive,
    printed,
    run,
)

from sit_fairseq.errors import UserError
from sit_fairseq.models.fairseq_adapter import SymbolInvariantTransformerModel
from sit_fairseq.tasks.stream_translation import StreamTranslationTask

ANSWERS = ("--beam", 2, "--max-len-b", 6)


def balanced(depth: int) -> str:
    """A formula of as many tokens as its depth allows."""
    return "a" if depth == 0 else f"& {balanced(depth - 1)} {balanced(depth - 1)}"


# With the reason, None for lines that can be answered.
LINES = {
    "": "the sentence is empty",
    "& a b": None,
    "& a Z3": "the sentence holds the unknown token 'Z3'",
    "& a": "the sentence is not one formula in prefix notation",
    "! z": None,
    "& a b </s>": "the sentence holds </s>, a token of fairseq's own",
    "| q & a b": None,
    balanced(10): "the sentence has 2047 tokens, more than the 1023",
    "& & a b & c d": "the sentence counts 32 tokens (8 with </s>; streams: 4), more than the 30",
    "xor a 1": None,
    "a\tb": "the sentence is not one formula",
}
GOOD = [line for line, reason in LINES.items() if reason is None]


def order(out: str) -> list:
    """The kind and id of each line that is an answer or a reason."""
    return [(kind, int(number)) for kind, number in re.findall(r"^([SHVE])-(\d+)\t", out, re.M)]


def test_every_line_is_answered_or_refused_in_its_place(prop, tmp_path, capsys):
    options = ("--max-tokens", 30, "--buffer-size", 4, "--batch-size", 3, *ANSWERS)
    interactive(prop.data, prop.trained, GOOD, tmp_path, *options)
    alone = {sentence.source: sentence for sentence in printed(capsys.readouterr().out)}
    with pytest.raises(UserError, match="^7 of 11 lines could not be answered"):
        interactive(prop.data, prop.trained, list(LINES), tmp_path, *options)
    out = capsys.readouterr().out
    kinds = ["E" if reason else "H" for reason in LINES.values()]
    assert order(out) == [(k, n) for n, kind in enumerate(kinds) for k in ("S", kind)]
    for sentence, (line, reason) in zip(printed(out), LINES.items()):
        assert sentence.source == " ".join(line.split())
        if reason is None:
            assert sentence.answers == alone[line].answers
            # Which sentences share a batch shows in the last digits.
            expected = pytest.approx(float(alone[line].scores[0]), abs=1e-5)
            assert float(sentence.scores[0]) == expected
        else:
            assert sentence.reason.startswith(reason) and len(sentence.reason) < 200


def test_the_first_such_line_is_the_end_if_strict(prop, tmp_path, capsys):
    lines = ["& a b", balanced(10), "! a", "& a"]
    with pytest.raises(UserError, match="^the sentence has 2047 tokens, .*[.]{3}'$") as error:
        interactive(prop.data, prop.trained, lines, tmp_path, "--strict", *ANSWERS)
    assert len(str(error.value)) < 250 and len(order(capsys.readouterr().out)) == 2


def test_nothing_grows_with_the_lines(prop, tmp_path, monkeypatch, capsys):
    step, tokens, objects = StreamTranslationTask.inference_step, [], []

    def counting(task, *args, **kwargs):
        tokens.append(len(task.source_dictionary))
        if len(tokens) % 30 == 0:
            gc.collect()
            kinds = Counter(type(o).__name__ for o in gc.get_objects())
            del kinds["LogRecord"]  # which pytest keeps
            objects.append(kinds)
        return step(task, *args, **kwargs)

    monkeypatch.setattr(StreamTranslationTask, "inference_step", counting)
    lines = [line for number in range(90) for line in (f"& n{number} m{number}", f"N{number}")]
    options = ("--symbols", r"[a-z]|[mn]\d+", "--beam", 1, "--max-len-b", 1, "--verify", "prop")
    with pytest.raises(UserError, match="^90 of 180 lines"):
        interactive(prop.data, prop.trained, lines, tmp_path, *options)
    assert order(capsys.readouterr().out)[-1] == ("E", 179)
    assert len(tokens) == 90 and len(set(tokens)) == 1
    assert len(objects) == 3 and sum((objects[2] - objects[1]).values()) < 20


def test_answers_are_written_before_the_next_line_is_read_and_little_else(prop):
    command = subprocess.Popen(
        [
            *(Path(sys.executable).parent / "fairseq-interactive", prop.data),
            *("--path", prop.trained, *PLUG_IN, *IN_PROCESS, "--beam", "1"),
        ],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    patience = threading.Timer(120, command.kill)
    patience.daemon = True
    patience.start()

    def ask(line: bytes, last: str) -> str:
        command.stdin.write(line)
        command.stdin.flush()
        answers = iter(command.stdout.readline, b"")
        return next(a.decode() for a in answers if a.decode().startswith(last))

    with command:
        assert ask(b"& a\n", "E-0").startswith("E-0\tthe sentence is not one formula")
        assert ask(b"! a\n", "P-1")
        assert ask(b"& a \xff\n", "E-2") == "E-2\tthe line is no text in UTF-8\n"
        errors = command.communicate()[1].decode().strip().split("\n")
        patience.cancel()
    assert command.returncode == 1
    assert errors[-1] == "2 of 3 lines could not be answered; the E- line of each says why"
    # One line says what was understood; the others are fairseq's own.
    understood = [line for line in errors if "sit_fairseq" in line.split(" {")[0]]
    assert len(understood) == 1 and "symbols '[a-z]'" in understood[0]
    assert len(errors) <= 10 and not any("hydra" in line.split(" {")[0] for line in errors)


def test_bytes_of_a_file_that_are_no_text_cost_their_line_alone(prop, tmp_path, capsys):
    """Also where the pattern would match them."""
    (tmp_path / "typed").write_bytes(b"& a b\n! <caf\xe9>\n! <caf\xc3\xa9>\n\xff\n! a")
    options = ("--path", prop.trained, "--input", tmp_path / "typed", *PLUG_IN, *IN_PROCESS)
    with pytest.raises(UserError, match="^2 of 5 lines"):
        symbols = ("--symbols", "[a-z]|<c.*>", "--buffer-size", 2, *ANSWERS)
        run(fairseq_cli.interactive, prop.data, *options, *symbols)
    out = capsys.readouterr().out
    found = printed(out)
    assert "".join(kind for kind, _ in order(out)) == "SHSESHSESH"
    assert (found[1].source, found[1].reason) == ("! <caf\\xe9>", "the line is no text in UTF-8")
    assert found[2].source == "! <café>" and found[3].source == "\\xff"


def test_an_input_that_cannot_be_read_is_named(prop, tmp_path):
    for name, reason in (("missing", "No such file"), ("", "Is a directory")):
        options = ("--path", prop.trained, "--input", tmp_path / name, *PLUG_IN, *IN_PROCESS)
        with pytest.raises(UserError, match=f"^Cannot read {tmp_path}.*: {reason}.*change input"):
            run(fairseq_cli.interactive, prop.data, *options)


def test_fairseqs_way_to_load_makes_a_model_that_answers_all_it_can(prop):
    load = SymbolInvariantTransformerModel.from_pretrained
    folder, name = prop.trained.parent, prop.trained.name
    model, two = load(str(folder), name, str(prop.data)), load(folder, f"{name}:{name}")
    lines = [line for line, reason in LINES.items() if "streams" not in (reason or "")]
    answers = model.answer(lines, beams=(5,))
    for line, answer in zip(lines, answers, strict=True):
        assert (answer.reason or "").startswith(LINES[line] or "") and bool(answer.reason) == bool(
            LINES[line]
        )
    given = [answer for answer in answers if answer.text is not None]
    assert given == model.answer(GOOD, beams=(5,))
    assert [one.text for one in given] == [one.text for one in two.answer(GOOD, beams=(5,))]
