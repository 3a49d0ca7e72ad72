"""What the task and the scorer of one run tell each other, and for how long."""

import gc

import pytest
import torch
from conftest import SOURCES, encode, make_dictionary, make_model, make_sample
from fairseq.dataclass.configs import GenerationConfig
from fairseq.tasks.translation import TranslationTask

from sit_fairseq.errors import UserError
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.tasks import run as runs
from sit_fairseq.tasks.options import StreamTranslationConfig
from sit_fairseq.tasks.run import Run, current_run
from sit_fairseq.tasks.scoring import SemanticScorer, SemanticScorerConfig
from sit_fairseq.tasks.stream_translation import StreamTranslationTask


@pytest.fixture(autouse=True)
def no_run(monkeypatch):
    """Other tests' runs are over."""
    monkeypatch.setattr(runs, "_current", None)


def make_task(**options) -> StreamTranslationTask:
    dictionary = make_dictionary()
    return StreamTranslationTask(StreamTranslationConfig(**options), dictionary, dictionary)


def begin(dictionary=None) -> Run:
    cfg = StreamTranslationConfig()
    return Run(GenerationConfig(), cfg, dictionary or make_dictionary(), lambda options: options)


def no_current_run() -> bool:
    with pytest.raises(UserError, match="--scoring semantic needs --task stream_translation"):
        SemanticScorer(SemanticScorerConfig())
    return current_run() is None


def test_a_run_is_the_current_one_until_its_end():
    assert no_current_run()
    run = begin()
    assert current_run() is run and run.generator.beam == 5
    run.end_judging()
    assert no_current_run()


def test_a_new_run_takes_the_place_of_the_old_one():
    old, new = begin(), begin()
    assert current_run() is new
    old.end_judging()
    assert current_run() is new


def test_a_run_ends_with_its_task():
    task = make_task()
    task.build_generator([make_model(task.source_dictionary)], GenerationConfig())
    assert current_run() is task._run
    del task
    gc.collect()
    assert no_current_run()


def test_a_search_alone_begins_no_run():
    task = make_task()
    model = make_model(task.source_dictionary).eval()
    generator = task.generator(GenerationConfig(beam=2, max_len_b=4), [model])
    assert no_current_run()
    sample = make_sample(task.source_dictionary)
    found = task.inference_step(generator, [model], sample)
    assert [len(nbest) for nbest in found] == [2] * len(SOURCES)
    assert not any("steps" in hypothesis for nbest in found for hypothesis in nbest)


def test_a_validation_is_no_run(monkeypatch):
    task = make_task(validate_semantics="prop")
    model = make_model(task.source_dictionary)
    monkeypatch.setattr(TranslationTask, "build_model", lambda *_: model)
    task.build_model(None)
    counts = task._judged.judge(make_sample(task.source_dictionary), model)
    assert sum(counts[f"_verdict_{verdict.value}"] for verdict in Verdict) == len(SOURCES)
    assert no_current_run()


def test_the_scorer_judges_what_is_printed_until_its_result():
    task = make_task()
    options = GenerationConfig(beam=3, nbest=2, max_len_b=4)
    model = make_model(task.source_dictionary).eval()
    generator = task.build_generator([model], options)
    scorer = SemanticScorer(SemanticScorerConfig())
    assert options.print_step
    sample = {"net_input": {"src_tokens": encode(task.source_dictionary, SOURCES)}}
    found = task.inference_step(generator, [model], sample)
    names = {verdict.value for verdict in Verdict}
    for nbest in found:
        assert all(hypothesis["steps"] in names for hypothesis in nbest[:2])
        assert "steps" not in nbest[2]
    assert scorer.counts.total == len(SOURCES)
    best = [nbest[0]["steps"] for nbest in found]
    assert scorer.counts[Verdict.invalid] == best.count("invalid")
    assert f"/{len(SOURCES)}" in scorer.result_string()
    assert no_current_run() and not options.print_step
    again = task.inference_step(generator, [model], sample)
    assert "steps" not in again[0][0] and scorer.counts.total == len(SOURCES)


def test_without_a_scorer_nothing_is_printed():
    task = make_task()
    options = GenerationConfig(beam=1, max_len_b=4)
    model = make_model(task.source_dictionary).eval()
    generator = task.build_generator([model], options)
    sample = {"net_input": {"src_tokens": encode(task.source_dictionary, SOURCES)}}
    found = task.inference_step(generator, [model], sample)
    assert not options.print_step
    assert not any("steps" in hypothesis for nbest in found for hypothesis in nbest)


@pytest.mark.parametrize("targets", [None, ["b", "1 <unk>"]])
def test_sources_references_and_answers_are_given_as_text(targets):
    dictionary = make_dictionary()
    run = begin(dictionary)
    given = []

    def judge(*texts):
        given.append(texts)
        return [[Verdict.satisfied], [Verdict.violated]]

    run.judge_by(judge)
    tokens = encode(dictionary, ["a 1", "0"], left_pad=True)
    hypotheses = [[{"tokens": torch.tensor([dictionary.index("b")])}] for _ in range(2)]
    sample = {"net_input": {"src_tokens": tokens}}
    if targets is not None:
        sample["target"] = encode(dictionary, targets)
    assert run.answer(sample, lambda *asked: hypotheses, run.generator) is hypotheses
    # What was lost in preprocessing equals no answer.
    references = None if targets is None else ["b", "1 <<unk>>"]
    assert given == [(["a 1", "0"], references, [["b"], ["b"]])]
    assert [nbest[0]["steps"] for nbest in hypotheses] == ["satisfied", "violated"]
