"""Converted models are compared with their originals on the pretended device."""

import random

import fairseq_cli.train
import pytest
from command_line import IN_PROCESS, UNVALIDATED, preprocess_lines, run
from vanilla_models import KINDS, REGEX, SIZES, SYMBOLS, sentence

from sit_fairseq.conversion import mapping, verification
from sit_fairseq.conversion.mapping import Symbols, convert, stream_dictionary
from sit_fairseq.conversion.original import read_vanilla
from sit_fairseq.tasks.file_options import read_state


def test_verification_computes_on_a_device(device, tmp_path):
    rng = random.Random(3)
    lines = zip(*(sentence(rng, rng.sample(SYMBOLS, 3)) for _ in range(40)))
    data = preprocess_lines(tmp_path, *map(list, lines), "train")
    run(
        fairseq_cli.train,
        *(data, "--save-dir", tmp_path, "--task", "translation", "--arch", "transformer"),
        *(*SIZES, *IN_PROCESS, "--optimizer", "adam", "--batch-size", 40, "--max-update", 1),
        *(*UNVALIDATED, "--no-epoch-checkpoints", *KINDS["two-sizes"]),
    )
    path = str(tmp_path / "checkpoint_last.pt")
    original = read_vanilla(path, read_state(path))
    symbols = Symbols(REGEX, ("a",), ("b",))
    options = mapping.training_options(original, [])
    configuration = mapping.configuration(original, symbols, options)
    converted, _ = convert(original, symbols, configuration.model)
    dictionary = stream_dictionary(original, symbols)
    pairs, _ = verification.sentences(original, dictionary, "a")[0]
    host = verification.compare(original, converted, pairs, "a")
    here = verification.compare(original, converted, pairs, "a", device=device.name)
    assert host.equal and here.equal
    assert next(converted.parameters()).is_cuda
    assert here.loss == pytest.approx(host.loss, rel=1e-5)
    assert here.tokens == host.tokens
