"""Mistakes that fairseq ends with a traceback end with one sentence."""

import sys
from types import SimpleNamespace

import fairseq_cli.train
import numpy
import pytest
from command_line import IN_PROCESS, ROOT, run, train
from fairseq import checkpoint_utils, utils
from fairseq.dataclass.configs import CheckpointConfig, FairseqConfig
from fairseq.scoring.wer import WerScorer, WerScorerConfig
from fairseq.tasks import setup_task
from fairseq.tasks.fairseq_task import FairseqTask
from vanilla_models import SIZES

from sit_fairseq.errors import UserError
from sit_fairseq.models import fairseq_language_model  # noqa: F401  registers it
from sit_fairseq.tasks.fairseq_patches import _mistake

ARCH = "symbol_invariant_transformer"


class _Long:
    """A data set of one sentence that no model reads."""

    def filter_indices_by_size(self, indices, max_sizes):
        return indices[:0], indices.tolist()

    def size(self, index):
        return 9


@pytest.mark.parametrize(
    "fails, words",
    [
        (lambda: setup_task(None), "no task is named; pass --task"),
        (lambda: WerScorer(WerScorerConfig()), "install editdistance"),
        (
            lambda: checkpoint_utils.load_checkpoint(
                CheckpointConfig(finetune_from_model="no.pt", save_dir="no"),
                SimpleNamespace(checkpoint_suffix="", cfg=FairseqConfig()),
            ),
            "--finetune-from-model no.pt",
        ),
        (lambda: FairseqTask(None).filter_indices_by_size(numpy.arange(1), _Long(), 3), "--skip-"),
    ],
)
def test_mistakes_that_fairseq_knows_are_one_sentence(fails, words, monkeypatch):
    monkeypatch.setitem(sys.modules, "editdistance", None)
    with pytest.raises(Exception) as error:
        fails()
    sentence = _mistake(error.value, error.tb)
    assert words in sentence and "\n" not in sentence


def raised_in(file, error):
    """Raises an error as if it came from a file."""
    exec(compile("raise error", str(file), "exec"), {"error": error})


@pytest.mark.parametrize(
    "module, error, words",
    [
        (utils, FloatingPointError("gradients are Nan/Inf"), "has diverged"),
        (utils, FloatingPointError("unlike between workers.\n---"), "unlike between workers."),
        (fairseq_cli.train, KeyError("bleu"), "measures 'bleu'; change --best-checkpoint-metric"),
        (utils, ValueError("paths are ignored. Set --combine-val"), "Set --combine-val"),
        (utils, RuntimeError("Cannot resume; pass --reset-dataloader"), "--reset-dataloader"),
    ],
)
def test_mistakes_that_a_training_ends_with_are_one_sentence(module, error, words):
    with pytest.raises(type(error)) as found:
        raised_in(module.__file__, error)
    assert words in _mistake(found.value, found.tb)


def test_errors_of_others_are_no_mistakes():
    for kind in (Exception, ImportError):
        with pytest.raises(kind) as error:
            raise kind("install it")
        assert _mistake(error.value, error.tb) is None


@pytest.mark.parametrize(
    "arch, task, given",
    [
        (ARCH, "stream_translation", ()),
        (f"{ARCH}_tiny", "stream_translation", ("--task", "symbol_language_modeling")),
        (f"{ARCH}_lm_tiny", "symbol_language_modeling", ("--task", "stream_translation")),
    ],
)
def test_an_arch_names_the_task_that_it_needs(arch, task, given, tmp_path):
    words = ("--user-dir", ROOT / "sit_fairseq", "--arch", arch, *IN_PROCESS, *given)
    with pytest.raises(UserError, match=f"pass --task {task}$"):
        run(fairseq_cli.train, tmp_path, *words, "--save-dir", tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_a_plain_transformer_is_to_be_converted(binarised, tmp_path, caplog):
    """It may be trained under our task, for a comparison, which says what it lacks."""
    options = ("--max-update", 1, "--train-subset", "test", "--valid-subset", "test")
    plain = ("--arch", "transformer", *SIZES, "--share-all-embeddings")
    plain = (*plain, "--criterion", "cross_entropy")
    model = train(binarised, tmp_path / "plain", *plain, *options)
    assert "TransformerModel knows no symbols" in caplog.text
    assert "--arch symbol_invariant_transformer" in caplog.text
    for option in ("--finetune-from-model", "--restore-file"):
        with pytest.raises(UserError, match=f"sit convert .*{option[2:].replace('-', '_')}"):
            train(binarised, tmp_path / "ours", *options, option, model)


def test_no_sentence_that_is_short_enough(binarised, tmp_path):
    short = ("--max-source-positions", 1, "--skip-invalid-size-inputs-valid-test")
    with pytest.raises(UserError, match="change max_source_positions"):
        train(binarised, tmp_path, "--max-update", 1, "--valid-subset", "test", *short)
