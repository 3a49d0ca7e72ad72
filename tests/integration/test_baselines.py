"""The baselines on the command line: same data, same trainer, same tables."""

import re
from types import SimpleNamespace

import pytest
from command_line import generate, preprocess, preprocess_lines, printed, train
from vanilla_models import load

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
    scores = []
    for seed in (1, 1, 2):  # which draws the codes of random symbols
        generate(
            six.test, models[kind], "--scoring", "semantic", "--semantics", "prop", "--seed", seed
        )
        out = capsys.readouterr().out
        scores.append([sentence.scores for sentence in printed(out)])
        assert re.search(r"correct [\d.]+ %", out) and [*map(len, scores[-1])] == [1, 1]
    assert scores[0] == scores[1] and (scores[0] != scores[2]) == (kind == "random")


# Alpha-renaming.
