"""Verified answers: which hypothesis is the answer, and what is searched again."""

from types import SimpleNamespace

import numpy
import pytest
import torch
from conftest import SOURCES, encode, make_dictionary, make_model, make_task, redraw
from fairseq.dataclass.configs import GenerationConfig

from sit_fairseq.domains.formulas.syntax import formula_symbols
from sit_fairseq.domains.prop.propositional import check_propositional
from sit_fairseq.judging.judge import Judge
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.search.verified_search import VerifiedSearch, beam_widths
from sit_fairseq.symbols.canonical_form import form_key
from sit_fairseq.tasks import run as runs
from sit_fairseq.tasks.generators import StreamSequenceGenerator


class CountingJudge(Judge):
    """Accepts one answer in four, whatever symbols are called."""

    semantics, name = "prop", "counting"
    quick = True

    def check(self, source):
        check_propositional(source.split())

    def verify(self, problem, answer):
        tokens = [*problem.split(), *answer.split()]
        key = form_key(tokens, formula_symbols(tokens))
        return (Verdict.satisfied, Verdict.timeout, *[Verdict.violated] * 2)[key % 4]


@pytest.fixture
def searching(monkeypatch):
    """A task, a model with random weights, and verified and plain answers to lines."""
    monkeypatch.setattr(runs, "accepting_judge", lambda semantics: CountingJudge())
    dictionary = make_dictionary()
    torch.manual_seed(3)
    model = redraw(
        make_model(dictionary, encoder_positions="rope", decoder_positions="rope").eval()
    )

    def unconstrained(**options):
        return make_task(dictionary, **{"constrained": "none", **options})

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

    return SimpleNamespace(make_task=unconstrained, sample=sample, answers=answers)


LINES = [*SOURCES, "& a b", "| a & b c", "! ! a", "xor e <-> f g", "& a & a a", "| 1 d"]


@pytest.mark.slow
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


def test_typed_lines_are_judged_as_they_were_typed(searching, monkeypatch):
    judged = []
    monkeypatch.setattr(CountingJudge, "problems", lambda _, lines, **options: judged.extend(lines))
    task = searching.make_task(verify="prop")
    monkeypatch.setattr(VerifiedSearch, "search", lambda *_: [])
    searching.answers(task, {**searching.sample(["! a"]), "lines": ["! typed"]})
    searching.answers(task, searching.sample(["! a"]))
    assert judged == ["! typed", "! a"]


def test_only_what_is_left_of_a_batch_is_searched_again(searching, monkeypatch):
    searched = []
    search = StreamSequenceGenerator.generate

    def counting(generator, models, sample, *args):
        searched.append((generator.search.options.beam, len(sample["net_input"]["src_tokens"])))
        return search(generator, models, sample, *args)

    monkeypatch.setattr(StreamSequenceGenerator, "generate", counting)
    task = searching.make_task(verify="prop", verify_beams="1,3")
    batches = [searching.sample(LINES[:5]), searching.sample(LINES[5:], first=5)]
    found = searching.answers(task, *batches)
    left = [
        sum((best[2], best[3]) != (Verdict.satisfied, 1) for best, *_ in batch) for batch in found
    ]
    assert 0 < sum(left) < len(LINES)
    expected = [[(1, len(batch)), (3, number)] for batch, number in zip(found, left)]
    assert searched == [call for calls in expected for call in calls if call[1]]


def test_sentences_that_the_judge_cannot_read_are_answered_but_invalid(searching):
    task = searching.make_task(verify="prop", verify_beams="2,5")
    lines = ["& a b", "& a", "! ! a", "a b"]
    (found,) = searching.answers(task, searching.sample(lines, first=10))
    (plain,) = searching.answers(searching.make_task(), searching.sample(lines))
    for place in (1, 3):
        assert found[place][0][2:] == (Verdict.invalid, 2)
        assert [h[:2] for h in found[place]] == [h[:2] for h in plain[place]]
    closing = task._run.generator.summary()
    assert closing.endswith("; the judge cannot read 2 sentences: their answers are invalid")


@pytest.mark.parametrize(
    "given, widths", [("3,25", [3, 25]), ([4, 9], [4, 9]), (numpy.array([7]), [7])]
)
def test_widths(given, widths):
    assert beam_widths(given) == widths
