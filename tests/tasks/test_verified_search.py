"""Verified answers: which hypothesis is the answer, and what is searched again."""

import re
from types import SimpleNamespace

import pytest
import torch
from conftest import SOURCES, encode, make_dictionary, make_model, redraw
from fairseq.dataclass.configs import GenerationConfig
from fairseq.tasks import FairseqTask

from sit_fairseq.errors import UserError
from sit_fairseq.judging.prop_judges import PropJudge
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.logic.syntax import formula_symbols
from sit_fairseq.search.verified_search import beam_widths
from sit_fairseq.symbols.canonical_form import form_key
from sit_fairseq.symbols.renaming import Renaming
from sit_fairseq.tasks import run as runs
from sit_fairseq.tasks.options import StreamTranslationConfig
from sit_fairseq.tasks.stream_translation import StreamTranslationTask


class CountingJudge(PropJudge):
    """Accepts one answer in four, whatever symbols are called."""

    name = "counting"
    quick = True

    def verify(self, problem, answer):
        tokens = [*problem.split(), *answer.split()]
        key = form_key(tokens, formula_symbols(tokens))
        return (Verdict.satisfied, Verdict.timeout, *[Verdict.violated] * 2)[key % 4]

    implies = satisfiable = None


@pytest.fixture
def searching(monkeypatch):
    """A task, a model with random weights, and verified and plain answers to lines."""
    monkeypatch.setattr(runs, "accepting_judge", lambda semantics: CountingJudge())
    dictionary = make_dictionary()
    torch.manual_seed(3)
    model = make_model(dictionary, encoder_positions="rope", decoder_positions="rope").eval()
    redraw(model)

    def make_task(**options):
        return StreamTranslationTask(StreamTranslationConfig(**options), dictionary, dictionary)

    def sample(lines, first=0):
        tokens = encode(dictionary, lines)
        lengths = tokens.ne(dictionary.pad()).sum(1)
        ids = torch.arange(first, first + len(lines))
        return {"id": ids, "net_input": {"src_tokens": tokens, "src_lengths": lengths}}

    def answers(task, *samples, beam=2):
        generator = task.build_generator([model], GenerationConfig(beam=beam, max_len_b=6))
        found = [task.inference_step(generator, [model], sample) for sample in samples]
        text = dictionary.text
        return [
            [
                [(text(h["tokens"]), float(h["score"]), h.get("verdict"), h.get("beam")) for h in n]
                for n in batch
            ]
            for batch in found
        ]

    return SimpleNamespace(make_task=make_task, sample=sample, answers=answers, model=model)


LINES = [*SOURCES, "& a b", "| a & b c", "! ! a", "xor e <-> f g", "& a & a a", "| 1 d"]


def test_the_judge_is_told_which_tokens_are_symbols(searching, monkeypatch):
    told = set()

    def verify(judge, problem, answer):
        told.add(problem.symbols)
        return Verdict.satisfied

    monkeypatch.setattr(CountingJudge, "verify", verify)
    searching.answers(searching.make_task(verify="prop"), searching.sample(LINES[:1]))
    assert told == {make_dictionary().pattern} != {None}


def test_the_answer_is_the_best_accepted_hypothesis_of_the_narrowest_beam(searching):
    plain = {}
    for beam in (2, 5):
        # Alone, as sentences that share a batch differ by rounding.
        plain[beam] = [
            searching.answers(searching.make_task(), searching.sample([line]), beam=beam)[0][0]
            for line in LINES
        ]
    task = searching.make_task(verify="prop", verify_beams="2,5")
    seen = set()
    for line, narrow, wide in zip(LINES, plain[2], plain[5]):
        ((found,),) = searching.answers(task, searching.sample([line]))
        accepted = [
            (beam, rank)
            for beam, nbest in ((2, narrow), (5, wide))
            for rank, (text, *_) in enumerate(nbest)
            if CountingJudge().verify(line, text) is Verdict.satisfied
        ]
        beam, rank = accepted[0] if accepted else (2, 0)
        expected = list({2: narrow, 5: wide}[beam])
        expected.insert(0, expected.pop(rank))
        assert [h[:2] for h in found] == [h[:2] for h in expected]
        assert found[0][2:] == (CountingJudge().verify(line, found[0][0]), beam)
        assert (found[0][2] is Verdict.satisfied) == bool(accepted)
        seen.add((bool(accepted), beam, rank > 0))
    # Answers that were best anyway, chosen ones, ones of the wide beam, and none.
    assert {(True, 2, False), (True, 5, True), (False, 2, False)} <= seen


def test_renamed_inputs_get_the_renamed_answers_with_equal_scores(searching):
    renaming = Renaming({"a": "h", "b": "a", "c": "e", "d": "c", "e": "b", "f": "d", "h": "f"})
    renamed = [renaming(line) for line in LINES]
    task = searching.make_task(verify="prop", verify_beams="2,5")
    halves = (slice(0, 5), slice(5, None))
    found = searching.answers(task, *(searching.sample(LINES[half]) for half in halves))
    again = searching.answers(task, *(searching.sample(renamed[half]) for half in halves))
    for one, other in zip(sum(found, []), sum(again, [])):
        assert [(renaming(text), *rest) for text, *rest in one] == [tuple(h) for h in other]


def test_only_what_is_left_of_a_batch_is_searched_again(searching, monkeypatch):
    searched = []
    search = FairseqTask.inference_step

    def counting(task, generator, models, sample, *args):
        searched.append((generator.search.options.beam, len(sample["net_input"]["src_tokens"])))
        return search(task, generator, models, sample, *args)

    monkeypatch.setattr(FairseqTask, "inference_step", counting)
    task = searching.make_task(verify="prop", verify_beams="1,3")
    batches = [searching.sample(LINES[:5]), searching.sample(LINES[5:], first=5)]
    found = searching.answers(task, *batches)
    left = [
        sum((best[2], best[3]) != (Verdict.satisfied, 1) for best, *_ in batch) for batch in found
    ]
    assert 0 < sum(left) < len(LINES)
    expected = [[(1, len(batch)), (3, number)] for batch, number in zip(found, left)]
    assert searched == [call for calls in expected for call in calls if call[1]]


def test_the_closing_line_counts_every_sentence(searching):
    task = searching.make_task(verify="prop", verify_beams="2,5")
    batches = searching.answers(task, searching.sample(LINES))
    search = task._run._verified
    satisfied = sum(nbest[0][2] is Verdict.satisfied for nbest in batches[0])
    found = re.fullmatch(
        rf"Verified {satisfied} of {len(LINES)} answers by counting: (\d+) with beam 2, (\d+) with "
        rf"beam 5; {len(LINES) - satisfied} not verified; judged (\d+) answers in \d+\.\d\d s",
        search.summary(),
    )
    assert int(found.group(1)) + int(found.group(2)) == satisfied
    assert int(found.group(3)) >= len(LINES)


def test_sentences_that_the_judge_cannot_read_are_named_and_answered(searching):
    task = searching.make_task(verify="prop", verify_beams="2,5")
    lines = ["& a b", "& a", "! ! a", "a b"]
    ((*found,),) = searching.answers(task, searching.sample(lines, first=10))
    (plain,) = searching.answers(searching.make_task(), searching.sample(lines))
    for place in (1, 3):
        assert found[place][0][2:] == (Verdict.invalid, 2)
        assert [h[:2] for h in found[place]] == [h[:2] for h in plain[place]]
    assert task._run._verified.summary().endswith(
        "the judge cannot read 2 sentences, whose answers count as invalid: lines 12, 14"
    )


def test_a_formula_deeper_than_the_tree_positions_is_answered_as_any_other(searching, caplog):
    model = searching.model = make_model(searching.model.vocabulary.dictionary).eval()
    redraw(model)
    task = searching.make_task(verify="prop", verify_beams="1,5")
    depth = model.encoder.embed_positions.depth
    deep = " ".join(["!"] * (depth + 8) + ["a"])
    generator = task.build_generator([model], GenerationConfig(beam=2, max_len_b=6))
    batches = [searching.sample(lines) for lines in ([deep, *LINES], [deep])]
    first, second = (task.inference_step(generator, [model], batch) for batch in batches)
    for nbest, line in zip([*first, *second], [deep, *LINES, deep]):
        judged = CountingJudge().verify(line, task.tgt_dict.text(nbest[0]["tokens"]))
        assert nbest[0]["verdict"] is judged
    assert {nbest[0]["beam"] for nbest in first[1:]} == {1, 5}
    warnings = [r for r in caplog.records if "tree positions end at" in r.getMessage()]
    assert len(warnings) == 1


def test_the_shortest_accepted_hypothesis(searching):
    task = searching.make_task(verify="prop")
    options = GenerationConfig(beam=6, max_len_b=6)
    options.verify_choose = "shortest"
    generator = task.build_generator([searching.model], options)
    shorter = 0
    for line in LINES:
        sample = searching.sample([line])
        (found,) = task.inference_step(generator, [searching.model], sample)
        texts = [task.tgt_dict.text(h["tokens"]) for h in found]
        good = [t for t in texts if CountingJudge().verify(line, t) is Verdict.satisfied]
        if good:
            assert texts[0] == min(good, key=lambda text: len(text.split()))
            shorter += float(found[0]["score"]) < max(float(h["score"]) for h in found)
    assert shorter


@pytest.mark.parametrize("given, widths", [(None, [7]), ("3,25", [3, 25]), ([4, 9], [4, 9])])
def test_widths(given, widths):
    assert beam_widths(given, 7) == widths


@pytest.mark.parametrize("given", ["", "3,x", "25,3", "0,3", "3,3", 5])
def test_widths_that_are_none(given):
    with pytest.raises(UserError, match="--verify-beams .*: name widths from narrow to wide"):
        beam_widths(given, 7)


def test_options_that_contradict_each_other(searching):
    task = searching.make_task(verify="prop")
    options = GenerationConfig(prefix_size=1)
    with pytest.raises(UserError, match="--prefix-size with --verify is not supported"):
        task.build_generator([searching.model], options)
    generator = task.build_generator([searching.model], GenerationConfig(beam=2))
    sample = searching.sample(LINES[:2])
    with pytest.raises(UserError, match="a prefix or a constraint with --verify"):
        task.inference_step(
            generator, [searching.model], sample, prefix_tokens=torch.tensor([[4], [4]])
        )
    with pytest.raises(UserError, match="--verify-beams needs --verify SEMANTICS"):
        searching.make_task(verify_beams="3").build_generator([searching.model], GenerationConfig())
