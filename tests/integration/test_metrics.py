"""What a training could not validate by is refused before its first update."""

import pytest
from command_line import ROOT, UNVALIDATED, generate, hydra_train, preprocess_lines, train

from sit_fairseq.errors import UserError
from sit_fairseq.judging import spot_judge


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Two pairs, to train, to validate and to answer."""
    root = tmp_path_factory.mktemp("metrics")
    return preprocess_lines(root, ["& a ! b", "! c"], ["a 1 b 0", "c 0"], split="valid")


SMOOTHED = ("--criterion", "label_smoothed_cross_entropy", "--label-smoothing", 0.1)
RISK = ("--criterion", "minimum_risk")
ARGUMENTS = ("--validate-semantics", "prop", "--validate-args")
HIGHER = "--maximize-best-checkpoint-metric"


@pytest.mark.parametrize(
    "options, message",
    [
        (("--best-checkpoint-metric", "correct"), "metric correct needs .* --validate-semantics"),
        (("--best-checkpoint-metric", "exact"), "metric exact needs .* pass --validate-semantics"),
        (("--best-checkpoint-metric", "exact", *ARGUMENTS, "{}"), f"the worst.* pass {HIGHER}"),
        (("--best-checkpoint-metric", "korrect"), "metric korrect is .*choose it from loss, ppl,"),
        (("--best-checkpoint-metric", "accuracy"), "metric accuracy .* --criterion adacos"),
        (("--best-checkpoint-metric", "risk", *RISK), "--criterion minimum_risk; .*ppl, scale, or"),
        ((*SMOOTHED, "--best-checkpoint-metric", "accuracy"), "from loss, ppl, nll_loss, or"),
        (
            ("--validate-semantics", "sudoku"),
            "'sudoku'; known are prop,.* change --validate-semantics",
        ),
        ((*ARGUMENTS, '{"bea": 3}'), "^--validate-args .*'bea'"),
        ((*ARGUMENTS, '{"beam": "wide"}'), "^--validate-args .*'wide'"),
        ((*ARGUMENTS, '{"beam": 0}'), "^--validate-args has a beam of 0"),
        ((*ARGUMENTS, "[3]"), "^--validate-args must be a JSON object"),
        ((*ARGUMENTS, "beam=3"), "^--validate-args must be a JSON object"),
        ((*ARGUMENTS, '{"sampling_topk": 3}'), "^--validate-args: .*: --sampling-topk requires"),
    ],
)
def test_refused_before_training(data, tmp_path, options, message):
    with pytest.raises(UserError, match=message) as error:
        train(data, tmp_path, "--max-update", 1, "--output-head", "linear", *options)
    assert "\n" not in str(error.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "options",
    [
        ("correct", HIGHER, "--validate-semantics", "exact"),
        ("vacuous", "--validate-semantics", "prop", "--validate-args", '{"beam": 2}'),
        ("scale",),
        ("ppl",),
        ("nll_loss", "--sentence-avg"),
        ("accuracy", *SMOOTHED, "--report-accuracy", "--output-head", "linear"),
        ("nll_loss", *SMOOTHED, "--output-head", "linear"),
    ],
)
def test_metrics_that_are_reported_choose_the_best(data, tmp_path, options):
    train(data, tmp_path, "--max-update", 1, "--best-checkpoint-metric", *options)
    assert (tmp_path / "checkpoint_best.pt").exists()


def test_refused_under_hydra(data, tmp_path):
    words = [
        *("--config-dir", ROOT / "examples/paper/hydra"),
        *("--config-name", "prop", f"task.data={data}", "task.validate_semantics=null"),
        *(f"common.user_dir={ROOT / 'sit_fairseq'}", f"common.tensorboard_logdir={tmp_path}"),
        *("common.cpu=true", f"hydra.run.dir={tmp_path}", f"checkpoint.save_dir={tmp_path}"),
    ]
    with pytest.raises(UserError, match="metric correct needs .* --validate-semantics"):
        hydra_train(*words)


def test_validation_by_a_judge_that_is_not_installed(data, tmp_path, monkeypatch):
    options = ("--validate-semantics", "ltl", "--max-update", 1, *UNVALIDATED)
    checkpoint = train(data, tmp_path / "here", *options) if spot_judge.spot_installed() else None
    monkeypatch.setattr(spot_judge, "spot_installed", lambda: False)
    with pytest.raises(UserError, match="--validate-semantics ltl needs .*pip install spot"):
        train(data, tmp_path / "elsewhere", *options)
    if checkpoint is not None:  # the model is of use also where it cannot be judged
        generate(data, checkpoint, "--gen-subset", "valid", "--max-len-b", 4)
