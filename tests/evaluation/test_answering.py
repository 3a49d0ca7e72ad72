import json
import threading

import pytest
from fake_decoder import FakeDecoder

from sit_fairseq.errors import UserError
from sit_fairseq.evaluation.answer_journal import AnswerJournal
from sit_fairseq.evaluation.answering import answer_all
from sit_fairseq.judging.judge import Judge, make_judge
from sit_fairseq.judging.pool import JudgePool
from sit_fairseq.judging.verdict import Verdict

SOURCES = [f"| a {name}" for name in "bcdefghijk"]


def first_symbol(source):
    return [f"{source.split()[1]} 1", f"{source.split()[2]} 1", "a"]


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "answers.jsonl")


def answer(path, decoder, sources=SOURCES, origin=None, restart=False):
    with AnswerJournal(path, origin or {"beam": 3}, restart) as journal:
        with JudgePool(make_judge("prop"), workers=0) as judges:
            return answer_all(decoder, sources, journal, judges)


def seen(answered):
    """All but the time."""
    return [(entry.answers, entry.verdicts) for entry in answered]


def test_answers_come_in_the_order_of_the_sentences(path):
    answered = answer(path, FakeDecoder(first_symbol))
    assert [entry.answers for entry in answered] == [first_symbol(source) for source in SOURCES]
    expected = [Verdict.satisfied, Verdict.satisfied, Verdict.invalid]
    assert all(entry.verdicts == expected for entry in answered)
    assert all(entry.seconds > 0 for entry in answered)


def test_an_interrupted_run_continues_where_it_stopped(path):
    whole = seen(answer(path, FakeDecoder(first_symbol)))
    interrupted = FakeDecoder(first_symbol, interrupt_after=2)
    with pytest.raises(KeyboardInterrupt):
        answer(path, interrupted, restart=True)
    # Both batches that were decoded are on disk, the one that was being judged too.
    assert len(interrupted.decoded) == len(open(path).readlines()) - 1 == 6
    rest = FakeDecoder(first_symbol)
    assert seen(answer(path, rest)) == whole
    assert sorted(rest.decoded + interrupted.decoded) == SOURCES
    complete = FakeDecoder(first_symbol)
    assert seen(answer(path, complete)) == whole
    assert complete.decoded == []


def test_half_a_line_is_answered_again(path):
    whole = seen(answer(path, FakeDecoder(first_symbol)))
    with open(path, "rb+") as file:
        file.truncate(len(file.read()) - 20)
    again = FakeDecoder(first_symbol)
    assert seen(answer(path, again)) == whole
    assert again.decoded == SOURCES[:1]  # a batch of its own
    entries = [json.loads(line) for line in open(path)][1:]
    assert sorted(entry["index"] for entry in entries) == list(range(10))


def test_answers_of_another_origin_are_refused_and_kept(path):
    answer(path, FakeDecoder(first_symbol), origin={"checkpoint": "x", "beam": 3})
    before = open(path).read()
    with pytest.raises(UserError, match=r"beam 3, not 5\).*--restart"):
        answer(path, FakeDecoder(first_symbol), origin={"checkpoint": "x", "beam": 5})
    assert open(path).read() == before
    decoder = FakeDecoder(first_symbol)
    answer(path, decoder, origin={"checkpoint": "x", "beam": 5}, restart=True)
    assert len(decoder.decoded) == 10


@pytest.mark.parametrize(
    "damage",
    [
        *({}, {"index": 0}, {"index": 0, "answers": [], "verdicts": [], "seconds": 1}),
        *(
            {"index": 0, "answers": answers, "verdicts": verdicts, "seconds": 1}
            for answers, verdicts in [
                ("a 1", []),
                ([1], []),
                (["a"], ["right"]),
                (["a", "b"], ["error"]),
            ]
        ),
    ],
)
def test_a_damaged_journal_is_named(path, damage):
    answer(path, FakeDecoder(first_symbol))
    lines = open(path).read().splitlines(keepends=True)
    with open(path, "w") as file:
        file.write(lines[0] + json.dumps(damage) + "\n")
    with pytest.raises(UserError, match="Line 2 of .*answers.jsonl is damaged; .*--restart"):
        answer(path, FakeDecoder(first_symbol))


def test_answers_that_nobody_judged_are_answered_again(path):
    with AnswerJournal(path, {"beam": 3}) as journal:
        answer_all(FakeDecoder(first_symbol), SOURCES, journal)
    answered = answer(path, FakeDecoder(first_symbol))
    assert all(len(entry.verdicts) == 3 for entry in answered)


def test_the_journal_of_version_0_1_is_taken_up(path):
    whole = seen(answer(path, FakeDecoder(first_symbol)))
    _, *entries = open(path).read().splitlines(keepends=True)
    with open(path, "w") as file:
        file.write('{"hash": "0123", "beam": 3}\n' + "".join(entries))
    decoder = FakeDecoder(first_symbol)
    assert seen(answer(path, decoder)) == whole and not decoder.decoded


def test_two_runs_do_not_share_a_journal(path):
    with AnswerJournal(path, {"beam": 3}):
        with pytest.raises(UserError, match="in use by another process; .*--result"):
            AnswerJournal(path, {"beam": 3})


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="Cannot write .*--result"):
        AnswerJournal(str(tmp_path / "file" / "answers.jsonl"), {})


def test_a_batch_is_judged_while_the_next_one_is_decoded(path):
    second_begun = threading.Event()

    class Patient(Judge):
        semantics, name, quick = "prop", "patient", True

        def verify(self, problem, answer):
            # Would wait in vain if the second batch were decoded after this.
            return Verdict.satisfied if second_begun.wait(20) else Verdict.timeout

    class Signalling(FakeDecoder):
        def decode(self, sources, skip=()):
            for number, batch in enumerate(super().decode(sources, skip)):
                if number == 1:
                    second_begun.set()
                yield batch

    with AnswerJournal(path, {}) as journal, JudgePool(Patient()) as judges:
        answered = answer_all(Signalling(first_symbol), SOURCES[:6], journal, judges)
    assert {verdict for entry in answered for verdict in entry.verdicts} == {Verdict.satisfied}


def test_what_the_judge_raises_reaches_the_caller(path):
    class Broken(Judge):
        semantics, name, quick = "prop", "broken", True

        def verify(self, problem, answer):
            raise RuntimeError("broken judge")

    with AnswerJournal(path, {}) as journal, JudgePool(Broken()) as judges:
        with pytest.raises(RuntimeError, match="broken judge"):
            answer_all(FakeDecoder(first_symbol), SOURCES, journal, judges)
