"""Shared by all tests: seeds, threads and a small vocabulary."""

import os
import pickle
import platform
import random
import shutil
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Callable, Optional

import numpy
import pytest
import torch
from filelock import FileLock

import sit_fairseq
from sit_fairseq.domains.formulas.syntax import ARITY
from sit_fairseq.domains.ltl.spot_judge import spot_installed
from sit_fairseq.models.fairseq_adapter import (
    SymbolInvariantTransformerConfig,
    SymbolInvariantTransformerModel,
)
from sit_fairseq.tasks.options import StreamTranslationConfig
from sit_fairseq.tasks.stream_dictionary import StreamDictionary
from sit_fairseq.tasks.stream_translation import StreamTranslationTask

# Fixtures that run a command, or train or export a model.
COSTLY = {"once", "binarised", "folder"}

PACKAGE = Path(sit_fairseq.__file__).parent

OPERATORS = ["!", "&", "|", "<->", "xor"]
SYMBOLS = list("abcdefgh")

# Sentences with 0, 1, 2 and 4 symbols, of different lengths.
SOURCES = ["! 0", "& a ! a", "<-> | d b & b ! d", "xor & c a | ! h b"]
TARGETS = ["1", "a 1", "b 0 d 1", "a 0 b 1 c 1 h 0"]


def pytest_collection_modifyitems(items):
    """Marks as ``fast`` the tests of all rooms that cost little: those without a command line, another
    process, a trained or exported model, or the mark ``slow`` of tests that take more than a second.
    """
    for item in items:
        origins = {getattr(value, "__module__", None) for value in vars(item.module).values()}
        costly = "command_line" in origins or hasattr(item.module, "subprocess")
        costly = costly or COSTLY & set(getattr(item, "fixturenames", ()))
        if not costly and not item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.fast)


@pytest.fixture(autouse=True)
def seeded():
    """Makes each test independent of those before it."""
    random.seed(1)
    numpy.random.seed(1)
    torch.manual_seed(1)
    torch.set_num_threads(1)


def make_dictionary(
    symbols=tuple(SYMBOLS), base=(*OPERATORS, "0", "1"), pattern: Optional[str] = "[a-z]"
) -> StreamDictionary:
    """A dictionary as fairseq-preprocess would write it, symbols before base tokens."""
    dictionary = StreamDictionary()
    for token in (*symbols, *base):
        dictionary.add_symbol(token)
    dictionary.pad_to_multiple_(8)
    if pattern is not None:
        dictionary.set_pattern(pattern)
    return dictionary


class _Config(SymbolInvariantTransformerConfig):
    def __getitem__(self, name):
        return getattr(self, name)


def small(**options):
    """Options of a model whose sizes are small and pairwise different, but those given."""
    sizes = dict(
        encoder_embed_dim=24,
        encoder_ffn_embed_dim=40,
        encoder_layers=2,
        encoder_attention_heads=3,
        max_source_positions=256,
        max_target_positions=200,
        fresh_names=None,
    )
    sizes.update(options)
    for name in ("embed_dim", "ffn_embed_dim", "layers", "attention_heads"):
        sizes.setdefault(f"decoder_{name}", sizes[f"encoder_{name}"])
    return sizes


def make_model(dictionary: Optional[StreamDictionary] = None, **options):
    """An untrained model of :func:`small` sizes."""
    fresh_names = options.pop("fresh_names", None)
    cfg = _Config(**small(**options))
    task = SimpleNamespace(
        source_dictionary=dictionary or make_dictionary(),
        cfg=SimpleNamespace(seed=1, fresh_names=fresh_names),
    )
    return SymbolInvariantTransformerModel.build_model(cfg, task)


def make_task(dictionary: Optional[StreamDictionary] = None, **options) -> StreamTranslationTask:
    """The task with these options, without data."""
    dictionary = dictionary or make_dictionary()
    return StreamTranslationTask(StreamTranslationConfig(**options), dictionary, dictionary)


def redraw(model: torch.nn.Module) -> torch.nn.Module:
    """The model with every parameter drawn anew, so that zero or one initial values hide nothing."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.normal_(1.0 if "norm.weight" in name else 0.0, 0.3)
    return model


def random_formula(rng: random.Random, symbols, depth: int) -> str:
    """A formula in prefix notation, at most ``depth`` operators deep."""
    if depth == 0 or rng.random() < 0.2:
        return rng.choice([*symbols, "0", "1"])
    operator = rng.choice(OPERATORS)
    operands = [random_formula(rng, symbols, depth - 1) for _ in range(ARITY[operator])]
    return " ".join([operator, *operands])


def encode(dictionary: StreamDictionary, lines, left_pad: bool = False) -> torch.Tensor:
    """Text lines to a padded batch of dictionary indices."""
    sentences = [dictionary.encode_line(line, add_if_not_exist=False).long() for line in lines]
    width = max(sentence.numel() for sentence in sentences)
    batch = torch.full((len(lines), width), dictionary.pad())
    for row, sentence in zip(batch, sentences):
        if left_pad:
            row[width - sentence.numel() :] = sentence
        else:
            row[: sentence.numel()] = sentence
    return batch


def shift(dictionary: StreamDictionary, target: torch.Tensor) -> torch.Tensor:
    """Decoder input of a target: ``</s>`` moved to the front."""
    previous = target.clone()
    previous[:, 1:] = target[:, :-1]
    previous[:, 0] = dictionary.eos()
    return previous.masked_fill(target.eq(dictionary.pad()), dictionary.pad())


def make_sample(
    dictionary: StreamDictionary, sources=SOURCES, targets=TARGETS, left_pad: bool = False
) -> dict:
    """A batch as fairseq's data sets collate it."""
    source, target = encode(dictionary, sources, left_pad), encode(dictionary, targets)
    return {
        "id": torch.arange(len(sources)),
        "ntokens": int(target.ne(dictionary.pad()).sum()),
        "net_input": {
            "src_tokens": source,
            "src_lengths": source.ne(dictionary.pad()).sum(1),
            "prev_output_tokens": shift(dictionary, target),
        },
        "target": target,
    }


@pytest.fixture(scope="session")
def once(tmp_path_factory) -> Callable[[str, Callable[[Path], Any]], Any]:
    """Gives what a function makes in a folder of this name; of all processes that run tests the
    first one that asks makes it."""
    root = tmp_path_factory.getbasetemp()
    if root.name.startswith("popen-gw"):  # of one of several processes
        root = root.parent

    def get(name, make):
        folder, made = root / f"{name}_once", root / f"{name}.pickle"
        with FileLock(f"{folder}.lock"):
            if not made.exists():
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir()
                made.write_bytes(pickle.dumps(make(folder)))
            return pickle.loads(made.read_bytes())

    return get


@pytest.fixture(scope="session")
def binarised(once) -> Path:
    """75 pairs over a to e, as fairseq-preprocess writes them, for training and for tests."""
    from command_line import preprocess_lines

    rng = random.Random(1)
    sources = [random_formula(rng, "abcde", 3) for _ in range(75)]
    answers = [" ".join(f"{token} 1" for token in "abcde" if token in s.split()) for s in sources]
    return once("binarised", lambda folder: preprocess_lines(folder, sources, answers))


def gone(process_id: int) -> bool:
    """Whether a process ends within 20 seconds."""
    for _ in range(400):
        try:
            os.kill(process_id, 0)
            # One that nobody waits for is still listed.
            if ") Z " in Path(f"/proc/{process_id}/stat").read_text():
                return True
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.05)
    return False


# scripts/setup.sh installs Spot wherever there is a wheel; there its absence is a failure.
needs_spot = pytest.mark.skipif(
    (sys.platform, platform.machine()) != ("linux", "x86_64") and not spot_installed(),
    reason="no Spot on this platform: install it from conda-forge",
)
