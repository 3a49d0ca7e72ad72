"""One generation: who scores and prints its answers, and for how long."""

import gc
from argparse import Namespace
from types import SimpleNamespace

import pytest
from conftest import SOURCES, encode, make_dictionary, make_model, make_sample, make_task
from fairseq.dataclass.configs import GenerationConfig

from sit_fairseq.domains import find
from sit_fairseq.domains.by_name import make_judge
from sit_fairseq.errors import UserError
from sit_fairseq.judging.judge import Judge
from sit_fairseq.judging.pool import JudgePool
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.tasks import fairseq_patches
from sit_fairseq.tasks import run as runs
from sit_fairseq.tasks.fairseq_patches import patch_command
from sit_fairseq.tasks.options import StreamTranslationConfig
from sit_fairseq.tasks.run import Run, current_run, judge_answers
from sit_fairseq.tasks.scoring import SemanticScorer, SemanticScorerConfig


@pytest.fixture(autouse=True)
def no_run(monkeypatch):
    """Other tests' runs are over."""
    monkeypatch.setattr(runs, "_current", None)


def no_current_run() -> bool:
    with pytest.raises(UserError, match="--scoring semantic needs --task stream_translation"):
        SemanticScorer(SemanticScorerConfig())
    return current_run() is None


def test_the_last_run_is_the_current_one_until_its_task_is_gone():
    assert no_current_run()
    task = make_task()
    for _ in range(2):
        task.build_generator([make_model(task.source_dictionary)], GenerationConfig())
        assert current_run() is task._run
    del task
    gc.collect()
    assert no_current_run()


def test_options_of_a_call_take_the_place_of_the_tasks():
    def generator(**options):
        cfg = StreamTranslationConfig(verify="prop", constrained="prop")
        return Run(Namespace(**options), cfg, make_dictionary(), True, lambda _, grammar: grammar)

    assert isinstance(generator().generator, runs.VerifiedGenerator)
    assert isinstance(generator(verify=None).generator, find("prop").grammar)
    for none in (None, False, "none"):
        assert generator(verify=None, constrained=none).generator is None


def test_a_search_alone_begins_no_run():
    task = make_task()
    model = make_model(task.source_dictionary).eval()
    generator = task.generator([model], GenerationConfig(beam=2, max_len_b=4))
    assert no_current_run()
    found = task.inference_step(generator, [model], make_sample(task.source_dictionary))
    assert [len(nbest) for nbest in found] == [2] * len(SOURCES)
    assert not any("steps" in hypothesis for nbest in found for hypothesis in nbest)


class Noting(Judge):
    """Notes what it is asked, and accepts everything."""

    quick = True
    semantics = name = "noting"

    def __init__(self, on_references=False):
        self.on_references, self.asked = on_references, []

    def verify(self, problem, answer):
        self.asked.append((str(problem), answer))
        return Verdict.satisfied


def test_judges_are_given_text_without_padding():
    dictionary, judge = make_dictionary(), Noting()
    sample = {"net_input": {"src_tokens": encode(dictionary, ["a 1", "0"], left_pad=True)}}
    tokens = encode(dictionary, ["b", "b"])
    hypotheses = [[{"tokens": row}] for row in tokens]
    judges = JudgePool(judge)
    _, answers, verdicts = judge_answers(judges, dictionary, sample, hypotheses)
    assert judge.asked == [("a 1", "b"), ("0", "b")] and answers == [["b"], ["b"]]
    assert verdicts == [[Verdict.satisfied]] * 2


def test_what_was_lost_in_preprocessing_equals_no_answer():
    dictionary = make_dictionary()
    sample = make_sample(dictionary, ["a", "a"], ["<unk>", "1"])
    hypotheses = [[{"tokens": row}] for row in encode(dictionary, ["<unk>", "1"])]
    judges = JudgePool(make_judge("exact"))
    verdicts = judge_answers(judges, dictionary, sample, hypotheses)[2]
    assert verdicts == [[Verdict.violated], [Verdict.satisfied]]


# Lines that fairseq does not print.


def test_a_script_that_calls_things_alike_keeps_its_own(monkeypatch):
    script = SimpleNamespace(__file__="mine.py", make_batches=len, print=print)
    script.get_symbols_to_strip_from_output = None
    before = dict(vars(script))
    monkeypatch.setitem(fairseq_patches.sys.modules, "__main__", script)
    patch_command()
    assert vars(script) == before
