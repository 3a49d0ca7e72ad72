"""What the commands print of a run that verifies, and when."""

import logging
from types import SimpleNamespace

import pytest
from conftest import make_dictionary
from fairseq.dataclass.configs import GenerationConfig

from sit_fairseq.tasks import fairseq_patches
from sit_fairseq.tasks import run as runs
from sit_fairseq.tasks.fairseq_patches import EndedEpochs, patch_command
from sit_fairseq.tasks.options import StreamTranslationConfig
from sit_fairseq.tasks.run import Run


@pytest.fixture
def verified(monkeypatch):
    """A run that has verified two sentences."""
    monkeypatch.setattr(runs, "_current", None)
    cfg = StreamTranslationConfig()
    run = Run(GenerationConfig(), cfg, make_dictionary(), lambda options: None)
    run._verified = SimpleNamespace(total=2, summary=lambda: "Verified 1 of 2")
    run._lines = {3: "V-3\tsatisfied\t2", 12: "V-12\tviolated\t5"}
    return run


def test_verdicts_stand_below_their_sentences_and_the_closing_line_below_all(monkeypatch, verified):
    printed = []
    command = SimpleNamespace(
        get_symbols_to_strip_from_output=None,
        print=lambda text, **options: printed.append((text, options)),
    )
    monkeypatch.setitem(fairseq_patches.sys.modules, "fairseq_cli.generate", command)
    patch_command()
    patch_command()  # of a second task
    options = {"file": "out"}
    for line in ("S-12\t& a b", "H-12\t-0.5\ta 1", "S-3\t! a", "S-3\t! a", "S-4\ta"):
        command.print(line, **options)
    verified.end_batches()
    assert [text for text, _ in printed] == [
        *("S-12\t& a b", "V-12\tviolated\t5", "H-12\t-0.5\ta 1"),
        *("S-3\t! a", "V-3\tsatisfied\t2", "S-3\t! a", "S-4\ta", "Verified 1 of 2"),
    ]
    assert all(given == options for _, given in printed)


def test_the_closing_line_is_logged_where_nothing_is_printed(verified, caplog):
    with caplog.at_level(logging.INFO):
        verified.end_batches()
    assert "Verified 1 of 2" in caplog.text
    caplog.clear()
    verified._verified.total = 0
    verified.end_batches()
    assert not caplog.text


def test_the_end_of_an_epoch_is_noted():
    ended = []
    epochs = SimpleNamespace(next_epoch_itr=lambda shuffle: ["a", "b"])
    batches = EndedEpochs(epochs, lambda: ended.append(batches.n)).next_epoch_itr(shuffle=False)
    assert len(batches) == 2
    seen = [(batch, batches.n, list(ended)) for batch in batches]
    assert seen == [("a", 1, []), ("b", 2, [])] and ended == [2]
