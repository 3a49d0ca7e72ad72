"""``--max-tokens`` bounds what the models compute with, on every path to a batch."""

import re

import fairseq_cli.validate
import pytest
import torch
from command_line import (
    IN_PROCESS,
    PLUG_IN,
    generate,
    interactive,
    preprocess_lines,
    run,
    train,
)

from sit_fairseq.errors import UserError
from sit_fairseq.models.decoder import StreamDecoder
from sit_fairseq.models.encoder import StreamEncoder
from sit_fairseq.tasks.options import StreamTranslationConfig
from sit_fairseq.tasks.stream_translation import StreamTranslationTask

BASELINE = ("--symbol-embedding", "canonical", "--stream-attention", "EP-DP-CP")


@pytest.fixture
def computed(monkeypatch):
    """Of each batch: the side, whether it is for training, its sentences, rows times columns."""
    batches = []

    def record(cls):
        forward = cls.forward

        def recording(self, canonical, second, *args, **kwargs):
            streams = getattr(second, "streams", second)  # of an encoded source, or the layout
            cost = streams.sentence.numel() * canonical.size(1)
            batches.append((cls, self.training, canonical.size(0), cost))
            return forward(self, canonical, second, *args, **kwargs)

        monkeypatch.setattr(cls, "forward", recording)

    record(StreamEncoder)
    record(StreamDecoder)
    return batches


@pytest.mark.parametrize("options, most_batches", [((), 130), (BASELINE, 60)])
def test_training_and_validation(prop, tmp_path, computed, options, most_batches):
    limits = ("--batch-size", 1000, "--max-tokens", 300, "--max-tokens-valid", 120)
    train(prop.data, tmp_path, *limits, *options, "--max-epoch", 1)
    for side in (StreamEncoder, StreamDecoder):
        for training, limit, number in ((True, 300, 2000), (False, 120, 70)):
            batches = [batch[2:] for batch in computed if batch[:2] == (side, training)]
            sentences, costs = zip(*batches)
            assert sum(sentences) == number
            assert limit / 2 < max(costs) <= limit
            assert len(batches) <= most_batches


def test_batches_of_the_task(prop):
    cfg = StreamTranslationConfig(
        data=str(prop.data),
        symbols="[a-z]",
        train_subset="train",
        dataset_impl="mmap",
        required_seq_len_multiple=1,
    )
    task = StreamTranslationTask.setup_task(cfg)
    task.load_dataset("train")
    iterator = task.get_batch_iterator(task.dataset("train"), max_tokens=200, max_sentences=40)
    symbols = [task.source_dictionary.index(symbol) for symbol in "abcde"]
    seen = []
    for batch in iterator.next_epoch_itr(shuffle=True):
        source = batch["net_input"]["src_tokens"]
        streams = sum(max(1, sum(symbol in row for symbol in symbols)) for row in source)
        assert streams * max(source.size(1), batch["target"].size(1)) <= 200
        assert source.size(0) <= 40
        seen.append(batch["id"])
    assert sorted(torch.cat(seen).tolist()) == list(range(2000))


def test_answering(prop, tmp_path, capsys, computed):
    answers = ("--beam", 1, "--max-len-b", 3)
    generate(prop.data, prop.trained, "--max-tokens", 100, *answers)
    out = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("H-") for line in out) == 400
    assert 50 < max(cost for side, _, _, cost in computed if side is StreamEncoder) <= 100
    # Names that no dictionary lists; the third line alone fills a batch.
    lines = ["! 0", "| y z", "& y & z x", "! y"]
    options = ("--max-tokens", 18, "--buffer-size", 4, *answers)
    interactive(prop.data, prop.trained, lines, tmp_path, *options)
    out = capsys.readouterr().out.splitlines()
    assert [line.split("\t")[1] for line in out if line.startswith("S-")] == lines


SKIP = "--skip-invalid-size-inputs-valid-test"
MIXED = ["a", "& a & b c", "| a b", "& & a b & c d"], ["a 1", "a 1 b 1 c 1", "a 1", "a 1"]


def test_sentences_that_no_batch_can_hold_are_skipped_if_asked(prop, tmp_path, capsys, caplog):
    data = preprocess_lines(tmp_path, *MIXED)
    capsys.readouterr()
    generate(data, prop.trained, "--max-tokens", 20, SKIP, "--beam", 1, "--max-len-b", 3)
    out = capsys.readouterr().out
    assert sorted(re.findall(r"^S-\d+\t(.*)$", out, re.M)) == ["a", "| a b"]
    assert "Translated 2 sentences" in caplog.text
    message = (
        "2 of 4 lines of the test source are skipped, as their length times their streams exceeds "
        "the 20 of --max-tokens, the first of them line 2; raise it (in validation "
        "--max-tokens-valid) to 32 to skip none"
    )
    assert message in caplog.text
    with pytest.raises(UserError, match="^no line is left: line 4 .* to 32$"):
        generate(data, prop.trained, "--max-tokens", 1, SKIP)


def test_validation_skips_if_asked_but_training_never_does(prop, tmp_path, caplog):
    data = preprocess_lines(tmp_path / "valid", *MIXED, "valid")
    options = ("--max-update", 1, "--max-tokens", 40, "--max-tokens-valid", 20)
    with pytest.raises(UserError, match="^line 4 of the valid source counts 32 tokens"):
        train(data, tmp_path / "one", *options)
    train(data, tmp_path / "two", *options, SKIP)
    assert "2 of 4 lines of the valid source are skipped" in caplog.text
    validate = ("--valid-subset", "valid", "--max-tokens", 20, *PLUG_IN, *IN_PROCESS)
    caplog.clear()
    checkpoint = tmp_path / "two" / "checkpoint_last.pt"
    run(fairseq_cli.validate, data, "--path", checkpoint, *validate, SKIP)
    assert "2 of 4 lines of the valid source are skipped" in caplog.text
    with pytest.raises(UserError, match="^line 4 of the train source counts 32 tokens"):
        train(data, tmp_path / "three", "--max-tokens", 20, SKIP)
