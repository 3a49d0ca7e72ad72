"""``--length-ramp-updates`` on the command line."""

import fairseq_cli.validate
import pytest
from command_line import IN_PROCESS, PLUG_IN, UNVALIDATED, generate, preprocess, run, sit, train

from sit_fairseq.errors import UserError
from sit_fairseq.tasks.stream_translation import StreamTranslationTask


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """300 formulas of 1 to 9 tokens, for training, validation and tests."""
    prefix = tmp_path_factory.mktemp("ramp") / "prop"
    sit("generate", "prop", prefix, "--max-length", 9, "--size", 300, "--workers", 1)
    files = [
        argument for split in ("train", "valid", "test") for argument in (f"--{split}pref", prefix)
    ]
    return preprocess(prefix.parent / "bin", *files)


@pytest.fixture
def trained_on(monkeypatch):
    """Of each batch: its update, the length of its longest source, its sentences."""
    batches = []
    train_step = StreamTranslationTask.train_step

    def recording(self, sample, model, criterion, optimizer, update_num, ignore_grad=False):
        batches.append((update_num, sample["net_input"]["src_tokens"].size(1), sample["id"]))
        return train_step(self, sample, model, criterion, optimizer, update_num, ignore_grad)

    monkeypatch.setattr(StreamTranslationTask, "train_step", recording)
    return batches


def test_training_begins_with_short_sentences_and_sees_each_once(
    data, tmp_path, trained_on, caplog
):
    ramp = ("--length-ramp-updates", 16, "--length-ramp-start", 6)
    size = ("--max-tokens", 100, "--update-freq", 2, "--num-workers", 1)
    with caplog.at_level("INFO"):
        path = train(data, tmp_path, *size, *ramp, "--max-epoch", 2, *UNVALIDATED)
    half = trained_on[-1][0] // 2  # the last update of the first epoch
    longest = max(length for _, length, _ in trained_on)
    assert half > 16 and longest == 10
    for update, length, _ in trained_on[:32]:
        assert length <= 6 + (longest - 6) * update / 16
    lengths = {length for update, length, _ in trained_on if update > half}
    assert min(lengths) < 6 and max(lengths) == 10
    for epoch in (0, 1):
        seen = [
            i for update, _, ids in trained_on if (update > half) == epoch for i in ids.tolist()
        ]
        assert sorted(seen) == list(range(300))
    assert "epoch 1: batches of at most 6.0 tokens from update 0, of at most 10.0" in caplog.text
    assert "epoch 2: batches of at most" not in caplog.text
    # The options are saved with the task, which neither of these commands trains.
    generate(data, path, "--max-len-b", 4)
    options = ("--path", path, "--valid-subset", "valid", "--batch-size", 64)
    run(fairseq_cli.validate, data, *options, *PLUG_IN, *IN_PROCESS)


def test_ramp_longer_than_an_epoch_is_told(data, tmp_path, caplog):
    options = ("--length-ramp-updates", 1000, "--max-epoch", 1, *UNVALIDATED)
    with caplog.at_level("INFO"):
        train(data, tmp_path, *options)
    assert "of its 5 batches are longer, as an epoch holds every batch and no" in caplog.text


@pytest.mark.parametrize(
    "options, fragment",
    [
        (("--length-ramp-updates", -1), "or 0 for no ramp, not -1"),
        (("--length-ramp-start", 5), "--length-ramp-start needs --length-ramp-updates"),
        (("--length-ramp-updates", 9, "--length-ramp-start", 0), "a number of tokens, not 0"),
        (
            ("--length-ramp-updates", 9, "--length-ramp-start", 10),
            "--length-ramp-start 10 leaves nothing to rise to: the longest training source has 10",
        ),
        (("--length-ramp-updates", 9, "--grouped-shuffling"), "leave one out"),
    ],
)
def test_options_that_make_no_ramp(data, tmp_path, options, fragment):
    with pytest.raises(UserError) as error:
        train(data, tmp_path, *options, "--max-update", 1)
    assert fragment in str(error.value)
