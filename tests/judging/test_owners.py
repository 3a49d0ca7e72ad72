"""Who opens a pool of judges closes it, also where fairseq does not say that it is done."""

import gc
from types import SimpleNamespace

from conftest import make_dictionary, make_model
from fairseq.tasks.translation import TranslationTask

from sit_fairseq.judging.judge import make_judge
from sit_fairseq.scoring.semantic import SemanticScorer, SemanticScorerConfig
from sit_fairseq.tasks import stream_translation
from sit_fairseq.tasks.stream_translation import StreamTranslationConfig, StreamTranslationTask


def test_the_scorer_closes_its_judges_when_asked_for_the_result(monkeypatch):
    task = SimpleNamespace(attach_scorer=lambda scorer: None)
    monkeypatch.setattr(StreamTranslationTask, "generating", task)
    scorer = SemanticScorer(SemanticScorerConfig(judge="aiger", judge_workers=1))
    scorer.judge_batch(["| a b"], [[{"tokens": "a 1"}]], str)
    (worker,) = scorer._judges._pool._workers
    assert worker.alive
    assert scorer.result_string().startswith("correct 100.00 %")
    assert not worker.alive


def test_the_task_closes_its_judges_at_its_end(monkeypatch):
    dictionary = make_dictionary()
    monkeypatch.setattr(
        TranslationTask, "build_model", lambda self, cfg, from_checkpoint: make_model(dictionary)
    )
    monkeypatch.setattr(
        stream_translation, "make_judge", lambda semantics: make_judge(semantics, "aiger")
    )
    task = StreamTranslationTask(
        StreamTranslationConfig(validate_semantics="prop"), dictionary, dictionary
    )
    task.build_model(None)
    task._judges.start()
    workers = list(task._judges._pool._workers)
    assert [worker.alive for worker in workers] == [True, True]
    StreamTranslationTask.generating = None  # it remembers the task that last built a generator
    del task
    gc.collect()
    assert not any(worker.alive for worker in workers)
