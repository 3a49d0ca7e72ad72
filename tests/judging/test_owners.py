"""Who opens a pool of judges closes it, also where fairseq does not say that it is done."""

import gc

from conftest import make_dictionary, make_model, make_sample, make_task
from fairseq.dataclass.configs import GenerationConfig
from fairseq.tasks.translation import TranslationTask

from sit_fairseq.domains.by_name import make_judge
from sit_fairseq.tasks import run as runs
from sit_fairseq.tasks import scoring
from sit_fairseq.tasks.options import StreamTranslationConfig
from sit_fairseq.tasks.run import Run
from sit_fairseq.tasks.scoring import SemanticScorer, SemanticScorerConfig


def alive(worker):
    return worker.process.poll() is None


def test_the_scorer_closes_its_judges_when_asked_for_the_result():
    cfg = StreamTranslationConfig()
    run = Run(GenerationConfig(), cfg, make_dictionary(), True, lambda options, grammar: None)
    scorer = SemanticScorer(SemanticScorerConfig(semantics="prop", judge="aiger", judge_workers=1))
    sample = make_sample(run.dictionary, ["| a b"], ["a 1"])
    scorer.judge(sample, [[{"tokens": sample["target"][0]}]])
    (worker,) = scorer._judges._idle
    assert alive(worker)
    assert scorer.result_string().startswith("correct 100.00 %")
    assert not alive(worker)


def test_a_run_closes_the_judges_that_verify_at_its_end(monkeypatch):
    monkeypatch.setattr(runs, "accepting_judge", lambda semantics: make_judge(semantics, "aiger"))
    monkeypatch.setattr(runs.os, "cpu_count", lambda: 1)
    cfg = StreamTranslationConfig(verify="prop")
    run = Run(GenerationConfig(), cfg, make_dictionary(), True, lambda options, grammar: None)
    pool = run.generator.judges
    pool.verify_all([("a", "a 1")])
    (worker,) = pool._idle
    assert alive(worker)
    del run, pool
    gc.collect()
    assert not alive(worker)


def test_the_task_closes_its_judges_at_its_end(monkeypatch):
    dictionary = make_dictionary()
    monkeypatch.setattr(
        TranslationTask, "build_model", lambda self, cfg, from_checkpoint: make_model(dictionary)
    )
    monkeypatch.setattr(
        scoring, "make_judge", lambda semantics, **_: make_judge(semantics, "aiger")
    )
    task = make_task(dictionary, validate_semantics="prop")
    task.build_model(None)
    pool = task._judged.judges
    pool.verify_all([("a", "a 1")] * 2)
    workers = list(pool._idle)
    assert all(map(alive, workers))
    del task, pool
    gc.collect()
    assert not any(map(alive, workers))
