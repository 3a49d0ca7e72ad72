"""A sentence that cannot be answered costs no other its answer."""

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
    UNVALIDATED,
    generate,
    interactive,
    preprocess_lines,
    run,
    train,
)

from sit_fairseq.errors import UserError
from sit_fairseq.models.symbol_invariant_transformer import SymbolInvariantTransformerModel
from sit_fairseq.tasks.python_interface import Unanswered
from sit_fairseq.tasks.stream_translation import StreamTranslationTask

ANSWERS = ("--beam", 2, "--max-len-b", 6)


def balanced(depth: int) -> str:
    """A formula of as many tokens as its depth allows."""
    return "a" if depth == 0 else f"& {balanced(depth - 1)} {balanced(depth - 1)}"


# With the reason, None for lines that can be answered.
LINES = {
    "": "the sentence is empty",
    "& a b": None,
    "& a Z3": "unknown token 'Z3'",
    "& a": "the sentence is not one formula in prefix notation",
    "! z": None,
    "& a <pad>": "the sentence holds <pad>, a token of fairseq's own",
    "& a <unk>": "the sentence holds <unk>, a token",
    "& a b </s>": "the sentence holds </s>, a token",
    "</s>": "the sentence holds </s>, a token",
    "& <s> a b": "the sentence holds <s>, a token",
    "& a madeupword0000": "the sentence holds madeupword0000, a token",
    " ".join(["!"] * 34 + ["a"]): "the sentence counts 36 tokens (36 with </s>; streams: 1)",
    "| q & a b": None,
    balanced(10): "the sentence has 2048 tokens with its </s>, more than the 1024",
    "& & a b & c d": "the sentence counts 32 tokens (8 with </s>; streams: 4), more than the 30",
    "xor a 1": None,
    "a\tb": "the sentence is not one formula",
}
GOOD = [line for line, reason in LINES.items() if reason is None]


def printed(out: str) -> list:
    """The kind, id and text of each line that is an answer or a reason, without the times."""
    found = re.findall(r"^([SHE])-(\d+)\t(.*)$", out, re.M)
    return [(kind, int(number), text) for kind, number, text in found]


@pytest.fixture(scope="module")
def hub(prop):
    return SymbolInvariantTransformerModel.from_pretrained(
        str(prop.trained.parent), prop.trained.name, str(prop.data), max_tokens=30
    )


@pytest.mark.parametrize(
    "options",
    [(), ("--buffer-size", 4, "--batch-size", 3), ("--buffer-size", 100), ("--buffer-size", 5)],
    ids=lambda options: "-".join(map(str, options)),
)
def test_every_line_is_answered_or_refused_in_its_place(prop, tmp_path, capsys, options):
    options = ("--max-tokens", 30, *options, *ANSWERS)
    interactive(prop.data, prop.trained, GOOD, tmp_path, *options)
    texts = [text for _, _, text in printed(capsys.readouterr().out)]
    answers = dict(zip(texts[::2], texts[1::2]))
    with pytest.raises(UserError, match="^13 of 17 lines could not be answered"):
        interactive(prop.data, prop.trained, list(LINES), tmp_path, *options)
    out = iter(printed(capsys.readouterr().out))
    for number, (line, reason) in enumerate(LINES.items()):
        assert next(out) == ("S", number, " ".join(line.split()))
        if reason is None:
            kind, place, text = next(out)
            (score, answer), (expected, same) = text.split("\t"), answers[line].split("\t")
            assert (kind, place, answer) == ("H", number, same)
            # Which sentences share a batch shows in the last digits.
            assert float(score) == pytest.approx(float(expected), abs=1e-5)
        else:
            kind, place, text = next(out)
            assert (kind, place) == ("E", number)
            assert text.startswith(reason) and "train" not in text and len(text) < 200
    assert next(out, None) is None


@pytest.mark.parametrize("strict", ["", "--buffer-size 3"])
def test_the_first_such_line_is_the_end_if_strict(prop, tmp_path, capsys, strict):
    lines = ["& a b", balanced(10), "! a", "& a"]
    with pytest.raises(UserError) as error:
        options = (*strict.split(), "--strict", *ANSWERS)
        interactive(prop.data, prop.trained, lines, tmp_path, *options)
    message = str(error.value)
    assert message.startswith("the sentence has 2048 tokens") and message.endswith("...'")
    assert len(message) < 250
    assert len(printed(capsys.readouterr().out)) == (0 if strict else 2)


def test_nothing_grows_with_the_lines(prop, tmp_path, monkeypatch, capsys):
    step, tokens, objects = StreamTranslationTask.inference_step, [], []

    def counting(task, *args, **kwargs):
        tokens.append(len(task.source_dictionary))
        if len(tokens) % 40 == 0:
            gc.collect()
            kinds = Counter(type(o).__name__ for o in gc.get_objects())
            del kinds["LogRecord"]  # which pytest keeps
            objects.append(kinds)
        return step(task, *args, **kwargs)

    monkeypatch.setattr(StreamTranslationTask, "inference_step", counting)
    lines = [line for number in range(120) for line in (f"& n{number} m{number}", f"N{number}")]
    options = ("--symbols", r"[a-z]|[mn]\d+", "--beam", 1, "--max-len-b", 1)
    with pytest.raises(UserError, match="^120 of 240 lines"):
        interactive(prop.data, prop.trained, lines, tmp_path, *options)
    assert printed(capsys.readouterr().out)[-1][:2] == ("E", 239)
    assert len(tokens) == 120 and len(set(tokens)) == 1
    assert len(objects) == 3 and sum((objects[2] - objects[1]).values()) < 20


def test_answers_are_written_before_the_next_line_is_read(prop):
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
        errors = command.communicate()[1].decode()
        patience.cancel()
        assert command.returncode == 1
        assert errors.strip().endswith(
            "2 of 3 lines could not be answered; the E- line of each says why"
        )


def test_bytes_of_a_file_that_are_no_text_cost_their_line_alone(prop, tmp_path, capsys):
    """Also where the pattern would match them."""
    (tmp_path / "typed").write_bytes(b"& a b\n! <caf\xe9>\n! <caf\xc3\xa9>\n\xff\n! a")
    options = ("--path", prop.trained, "--input", tmp_path / "typed", *PLUG_IN, *IN_PROCESS)
    with pytest.raises(UserError, match="^2 of 5 lines"):
        symbols = ("--symbols", "[a-z]|<c.*>", "--buffer-size", 2, *ANSWERS)
        run(fairseq_cli.interactive, prop.data, *options, *symbols)
    out = printed(capsys.readouterr().out)
    assert [kind for kind, _, _ in out] == list("SHSESHSESH")
    assert out[2:4] == [("S", 1, "! <caf\\xe9>"), ("E", 1, "the line is no text in UTF-8")]
    assert out[4] == ("S", 2, "! <café>") and out[6] == ("S", 3, "\\xff")


SHORT = ("--min-len", 3, "--max-len-a", 1, "--max-len-b", 0)
TOO_SHORT = (
    "the answer to a sentence of 2 tokens with its </s> may have 2 tokens (--max-len-a 1, "
    "--max-len-b 0, and 1023 at most), fewer than the 3 of --min-len"
)


@pytest.mark.parametrize("buffer", [1, 3])
def test_lines_whose_answers_cannot_be_long_enough(prop, tmp_path, capsys, buffer):
    """Whatever lines are beside them."""
    with pytest.raises(UserError, match="^2 of 4 lines"):
        options = ("--buffer-size", buffer, *SHORT)
        interactive(prop.data, prop.trained, ["a", "& a b", "0", "! a"], tmp_path, *options)
    out = printed(capsys.readouterr().out)
    assert [kind for kind, _, _ in out] == list("SESHSESH")
    assert out[1][2] == out[5][2] == TOO_SHORT
    assert all(len(text.split()) >= 4 for kind, _, text in out if kind == "H")


def test_data_whose_answers_cannot_be_long_enough(prop, tmp_path):
    data = preprocess_lines(tmp_path, ["& a b", "a"], ["a 1 b 1", "a 1"])
    with pytest.raises(UserError) as error:
        generate(data, prop.trained, "--batch-size", 1, *SHORT)
    assert str(error.value) == f"{TOO_SHORT}; lower that, or allow longer answers"


def test_answers_in_python_that_cannot_be_long_enough(hub):
    limits = {"min_len": 3, "max_len_a": 1, "max_len_b": 0}
    refused, answer = hub.translate(["a", "& a b"], **limits)
    assert refused == Unanswered(TOO_SHORT) and isinstance(answer, str)
    (refused,) = hub.translate(["a"], match_source_len=True, min_len=3)
    assert "may have 2 tokens (--match-source-len), fewer than the 3" in refused.reason


def test_special_tokens_are_not_verified_away(prop, hub, tmp_path):
    found = hub.translate(["xor a </s> b", "xor <s> a b", "xor a b"], verify="prop")
    assert [isinstance(answer, Unanswered) for answer in found] == [True, True, False]
    with pytest.raises(UserError, match="the sentence holds </s>, a token of fairseq's own"):
        hub.generate([hub.encode("xor a </s> b")], verify="prop")
    data = preprocess_lines(tmp_path, ["a", "xor a </s> b"], ["a 1", "a 1 b 0"])
    with pytest.raises(UserError, match="^line 2 of the test source holds </s>"):
        generate(data, prop.trained, "--verify", "prop")


def test_a_list_of_sentences_has_as_many_answers(hub):
    size = len(hub.src_dict)
    answers = hub.translate(list(LINES))
    assert len(answers) == len(LINES)
    for answer, reason in zip(answers, LINES.values()):
        if reason is None:
            assert isinstance(answer, str)
        else:
            assert isinstance(answer, Unanswered) and answer.reason.startswith(reason)
    assert [answer for answer in answers if answer] == hub.translate(GOOD)
    assert hub.translate([]) == [] and hub.translate([""]) == [answers[0]]
    assert hub.translate("& a Z3") == answers[2] and not answers[2]
    assert hub.translate("& a b") == answers[1]
    assert hub.sample(GOOD, beam=5, strict=True) == hub.translate(GOOD)
    assert len(hub.src_dict) == size


def test_a_model_without_streams_knows_no_new_names(prop, tmp_path, capsys):
    sizes = [("layers", 1), ("embed-dim", 16), ("ffn-embed-dim", 16), ("attention-heads", 2)]
    plain = train(
        prop.data,
        tmp_path / "plain",
        *("--arch", "transformer", "--criterion", "cross_entropy"),
        *("--max-update", 1, *UNVALIDATED),
        *[x for side in ("en", "de") for name, n in sizes for x in (f"--{side}coder-{name}", n)],
    )
    capsys.readouterr()
    with pytest.raises(UserError, match="^2 of 4 lines"):
        lines = ["& a b", "& a z", "& a Z3", "! b"]
        options = ("--symbols", "[a-z]", "--buffer-size", 2, *ANSWERS)
        interactive(prop.data, plain, lines, tmp_path, *options)
    out = printed(capsys.readouterr().out)
    assert [kind for kind, _, _ in out] == list("SHSESESH")
    assert out[3][2] == "the sentence holds 'z', which the model has no embedding for"
    assert out[5][2].startswith("unknown token 'Z3'")
