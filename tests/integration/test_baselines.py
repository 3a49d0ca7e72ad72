"""The baselines on the command line: same data, same trainer, same tables."""

import re
from types import SimpleNamespace

import pytest
from command_line import generate, preprocess, preprocess_lines, printed, train
from vanilla_models import load

from sit_fairseq.training.criterions import AdaCosCriterion

ONE_STREAM = ("--stream-attention", "EP-DP-CP")
KINDS = ("fixed", "canonical", "random")
# What each model may know when it starts: 40 pairs over a, b and c.
FORMULAS = ["& a b", "| b ! c", "xor c a", "<-> a ! b", "& ! c a", "! b", "a", "| c b"]
ANSWERS = ["a 1 b 1", "b 1", "c 1 a 0", "a 1 b 0", "c 0 a 1", "b 0", "a 1", "c 1"]


@pytest.fixture(scope="module")
def six(tmp_path_factory) -> SimpleNamespace:
    """Pairs over a, b, c with a dictionary that lists a to f, as the README says to make it."""
    root = tmp_path_factory.mktemp("six")
    own = preprocess_lines(root / "own", FORMULAS * 5, ANSWERS * 5)
    text = root / "own" / "text"
    listed = root / "dict.txt"
    listed.write_text((own / "dict.src.txt").read_text() + "d 0\ne 0\nf 0\n")
    data = preprocess(
        root / "bin",
        *("--trainpref", text, "--validpref", text, "--testpref", text),
        *("--joined-dictionary", "--srcdict", listed),
    )
    # Another order of dict.txt, and symbols that only the longer dictionary lists.
    test = preprocess_lines(root / "test", ["& f e", "! d"], ["f 1 e 1", "d 0"])
    return SimpleNamespace(data=data, test=test)


def brief(kind, data, save_dir, *arguments):
    """A model after three updates."""
    options = ("--symbol-embedding", kind, *ONE_STREAM, "--symbol-code-dim", 6)
    return train(data, save_dir, *options, "--max-update", 3, *arguments)


@pytest.fixture(scope="module")
def models(six, tmp_path_factory) -> dict:
    """A briefly trained model of each kind."""
    root = tmp_path_factory.mktemp("models")
    return {kind: brief(kind, six.data, root / kind) for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS)
def test_trains_and_answers_a_test_set_with_another_dictionary(kind, six, models, capsys):
    saved = load(models[kind])
    assert saved["cfg"]["model"]["symbol_embedding"] == kind
    assert 0 < saved["extra_state"]["val_loss"] < 10
    # Four special tokens, five operators, two constants; a to f.
    rows, channels = saved["model"]["encoder.embed_tokens.weight"].shape
    assert (rows, channels) == {"random": (12, 58)}.get(kind, (17, 64))
    capsys.readouterr()
    generate(six.test, models[kind], "--scoring", "semantic", "--semantics", "prop")
    out = capsys.readouterr().out
    assert [len(sentence.answers) for sentence in printed(out)] == [1, 1]
    assert re.search(r"correct [\d.]+ %", out)


def test_seed_of_generation_draws_the_codes(six, models, capsys):
    def scores(*arguments):
        capsys.readouterr()
        generate(six.test, models["random"], *arguments)
        return [sentence.scores for sentence in printed(capsys.readouterr().out)]

    first = scores()
    assert len(first) == 2 and scores("--seed", 1) == first
    assert scores("--seed", 2) != first


# Alpha-renaming.


@pytest.fixture
def seen(monkeypatch):
    """What models are given: whether to train on it, and (source, target) by index."""
    batches = []
    forward = AdaCosCriterion.forward

    def record(self, model, sample, reduce=True):
        dictionary = self.task.source_dictionary
        sides = [
            [dictionary.string(row[row.ne(dictionary.pad())]) for row in side]
            for side in (sample["net_input"]["src_tokens"], sample["target"])
        ]
        batches.append((model.training, dict(zip(sample["id"].tolist(), zip(*sides)))))
        return forward(self, model, sample, reduce)

    monkeypatch.setattr(AdaCosCriterion, "forward", record)
    return batches


# Three batches in each epoch.
ALPHA = ("--alpha-renaming", "--batch-size", 16)


def test_training_pairs_are_renamed_anew_in_each_epoch(six, seen, tmp_path):
    """Whatever the workers, and after a restart: test_interruptions.py trains with renaming."""
    brief("fixed", six.data, tmp_path, *ALPHA, "--max-update", 9)
    trained = [batch for training, batch in seen if training]
    assert len(trained) == 9
    epochs = [
        {index: pair for batch in trained[first : first + 3] for index, pair in batch.items()}
        for first in (0, 3, 6)
    ]
    assert all(sorted(epoch) == list(range(40)) for epoch in epochs)
    assert epochs[0] != epochs[1] != epochs[2] != epochs[0]
    text = " ".join(source for epoch in epochs for source, _ in epoch.values())
    assert set("abcdef") <= set(text.split())  # d, e and f are in no training pair
    validation = {i: pair for training, batch in seen if not training for i, pair in batch.items()}
    assert validation == dict(enumerate(zip(FORMULAS * 5, ANSWERS * 5)))
