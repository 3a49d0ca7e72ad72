"""What fairseq asks of the task, and what the task refuses."""

import gc
import shutil
import sys
from types import SimpleNamespace

import pytest
import torch
from conftest import encode, make_model, make_sample, make_task
from fairseq.dataclass.configs import GenerationConfig
from fairseq.dataclass.utils import OmegaConf
from fairseq.tasks.translation import TranslationTask

from sit_fairseq.domains.ltl import spot_judge
from sit_fairseq.errors import UserError
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.tasks.options import StreamTranslationConfig
from sit_fairseq.tasks.stream_translation import StreamTranslationTask
from sit_fairseq.training.criterions import StreamLabelSmoothedCrossEntropyCriterion


def test_the_greatest_length_comes_before_the_least():
    """As of a line that is shorter than others: --min-len 3 --max-len-a 1 --max-len-b 0."""
    task = make_task()
    model = make_model(task.source_dictionary).eval()
    options = GenerationConfig(beam=2, min_len=5, max_len_a=1, max_len_b=0)
    generator = task.build_generator([model], options)
    sample = {"net_input": {"src_tokens": encode(task.source_dictionary, ["a", "b"])}}
    for nbest in task.inference_step(generator, [model], sample):
        assert {len(hypothesis["tokens"]) for hypothesis in nbest} == {2 + 1}


def test_label_smoothing_of_others_is_refused():
    task = make_task()
    cfg = OmegaConf.create(
        {
            "_name": "label_smoothed_cross_entropy_with_alignment",
            **{"sentence_avg": False, "label_smoothing": 0.1, "alignment_lambda": 0.1},
        }
    )
    with pytest.raises(UserError, match="--criterion"):
        task.build_criterion(cfg)
    cfg._name = "label_smoothed_cross_entropy"
    assert isinstance(task.build_criterion(cfg), StreamLabelSmoothedCrossEntropyCriterion)


def test_a_judge_that_is_not_installed_is_missed_before_training(monkeypatch):
    """The model is of use also where it cannot be judged."""
    monkeypatch.setattr(spot_judge, "spot_installed", lambda: False)
    task = make_task(validate_semantics="ltl")
    model = make_model(task.source_dictionary)
    monkeypatch.setattr(TranslationTask, "build_model", lambda *_: model)
    with pytest.raises(UserError, match="ltl needs what is not installed.*spot"):
        task.build_model(SimpleNamespace())
    cfg = OmegaConf.create({"_name": "transformer"})
    assert task.build_model(cfg, from_checkpoint=True) is model


# Files.


def setup(folder, **options):
    defaults = dict(train_subset="train", dataset_impl="mmap", required_seq_len_multiple=1)
    cfg = StreamTranslationConfig(data=str(folder), **{**defaults, **options})
    return StreamTranslationTask.setup_task(cfg)


@pytest.fixture
def folder(binarised, tmp_path):
    """A copy of binarised data."""
    return shutil.copytree(binarised, tmp_path / "bin")


def test_folders_that_are_none_of_fairseqs(folder, tmp_path):
    with pytest.raises(UserError, match="nowhere' .*fairseq-preprocess"):
        setup(tmp_path / "nowhere")
    with pytest.raises(UserError, match="change source_lang or target"):
        setup(tmp_path)
    (folder / "dict.tgt.txt").write_text("a 1\n")
    with pytest.raises(UserError, match="--joined-dictionary"):
        setup(folder)
    (folder / "dict.tgt.txt").write_text("a")
    with pytest.raises(UserError, match="dict.tgt.txt is no dictionary"):
        setup(folder)
    (folder / "dict.tgt.txt").unlink()  # as fairseq-preprocess --only-source leaves it
    assert setup(folder).target_dictionary == setup(folder).source_dictionary


CUT = {
    "another split": lambda folder: "dev",
    "an index": lambda folder: cut(folder / "train.src-tgt.src.idx", 30),
    "the magic": lambda folder: cut(folder / "train.src-tgt.tgt.idx", 5),
    "data": lambda folder: cut(folder / "train.src-tgt.src.bin", 7),
    "a side": lambda folder: (folder / "train.src-tgt.src.bin").write_bytes(
        b"\4\0" * ((folder / "train.src-tgt.src.bin").stat().st_size // 2)
    ),
}


def cut(path, size):
    path.write_bytes(path.read_bytes()[:size])


@pytest.mark.parametrize("damage", CUT)
def test_damaged_splits_end_in_one_sentence(folder, damage, monkeypatch):
    """Also where fairseq is about to close a file that it could not open."""
    at_the_end = []
    monkeypatch.setattr(sys, "unraisablehook", at_the_end.append)
    split = CUT[damage](folder)
    split = split if isinstance(split, str) else "train"
    with pytest.raises(UserError, match="fairseq-preprocess") as error:
        setup(folder, symbols="[a-z]").load_dataset(split)
    assert split in str(error.value) and "\n" not in str(error.value)
    del error
    gc.collect()
    assert at_the_end == []


def test_a_resumed_training_has_the_batches_of_the_first_epoch(binarised):
    """With --update-ordered-indices-seed, which adds the epoch to the seed."""
    task = setup(binarised, symbols="[a-z]", seed=1)
    task.load_dataset("train")
    options = dict(max_sentences=7)
    expected = task.get_batch_iterator(task.dataset("train"), seed=2, **options).frozen_batches
    other = setup(binarised, symbols="[a-z]", seed=1)
    other.load_dataset("train")
    found = other.get_batch_iterator(other.dataset("train"), epoch=3, seed=4, **options)
    assert found.epoch == 3
    assert [*map(list, found.frozen_batches)] == [*map(list, expected)]


# What is said.


def test_judged_validation_logs_beside_the_loss(monkeypatch):
    task = make_task(validate_semantics="prop", validate_samples=3)
    model = make_model(task.source_dictionary)
    monkeypatch.setattr(TranslationTask, "build_model", lambda *_: model)
    task.build_model(None)
    criterion = lambda model, sample: (torch.zeros(1), 1, {"loss": 1})  # noqa: E731
    _, _, logged = task.valid_step(make_sample(task.source_dictionary), model, criterion)
    verdicts = [value for name, value in logged.items() if name.startswith("_verdict")]
    assert sum(verdicts) == 3 and logged["loss"] == 1 and "_exact" in logged
    assert task._run is None  # a validation is no run


def test_a_judge_that_fails_in_this_process_ends_no_training(monkeypatch):
    task = make_task(validate_semantics="exact", validate_samples=3)
    model = make_model(task.source_dictionary)
    monkeypatch.setattr(TranslationTask, "build_model", lambda *_: model)
    task.build_model(None)
    failures = iter([True, False])
    failing = lambda *pair: 1 / 0 if next(failures, False) else Verdict.violated  # noqa: E731
    monkeypatch.setattr(task._judged.judges.judge, "verify", failing)
    criterion = lambda model, sample: (torch.zeros(1), 1, {"loss": 1})  # noqa: E731
    _, _, logged = task.valid_step(make_sample(task.source_dictionary), model, criterion)
    assert (logged["_verdict_error"], logged["_verdict_violated"]) == (1, 2)


def test_answers_are_judged_by_a_judge_of_their_domain(monkeypatch):
    task = make_task(validate_semantics="prop", domain="ltl")
    monkeypatch.setattr(TranslationTask, "build_model", lambda *_: make_model())
    with pytest.raises(UserError, match="prop .* is of ltl; change validate_semantics"):
        task.build_model(None)
