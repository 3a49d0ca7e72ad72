"""The parts of ``scripts/gpu.sh``; each writes what it finds into OUT/PART.jsonl, line by line.

    python -m scripts.gpu.parts speed OUT --device cuda

- ``renamings``: answers of the shipped models to renamed sentences, and their scores, bit for bit
- ``conversion``: ``sit convert --verify`` of transformers of two sizes, with random weights
- ``speed``: sentences a second and peak memory of training and search, by model, dtype and batch
- ``recipes``: updates a second of the paper's recipes, and the hours that each would take

On a CPU all sizes are small.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import time
from itertools import product
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, Callable, Dict, Iterator, Sequence, Tuple

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts" / "benchmark")]

import sentencepiece  # noqa: E402
import torch  # noqa: E402
from measuring import PeakMemory, be_quiet, interleaved  # noqa: E402
from subjects import PLACES, Subject  # noqa: E402

from examples.binding.terms import terms  # noqa: E402
from examples.entities.sentences import UNSEEN, sentences  # noqa: E402
from examples.planning.problems import questions  # noqa: E402
from sit_fairseq.model import Model  # noqa: E402
from sit_fairseq.symbols.pattern import SymbolPattern  # noqa: E402
from sit_fairseq.symbols.renaming import random_renamings  # noqa: E402

Found = Iterator[Dict[str, Any]]

KINDS = (*PLACES, "literal", "stock")
# What each shipped model is asked: options of ``sit generate``, or pairs.
QUESTIONS: Dict[str, Any] = {
    "prop": ("prop", "--max-length", 12),
    "converted": ("prop", "--symbols", 3, "--max-length", 8),
    "ltl": ("ltl", "--max-length", 10),
    "copy": ("copy", "--symbols", 8, "--min-length", 1, "--max-length", 12),
    "planning": questions,
    "binding": lambda size: terms(size, 42, (1, 3), (0, 3), 3),
    "entities": lambda size: sentences(size, 42, UNSEEN, 1, 4),
}
# The paper's baseline for propositional logic, and the transformer of Vaswani et al. (2017).
SIZES = {
    "the paper's": "--encoder-layers 6 --decoder-layers 6 --encoder-embed-dim 132 "
    "--decoder-embed-dim 132 --encoder-ffn-embed-dim 512 --decoder-ffn-embed-dim 512 "
    "--encoder-attention-heads 6 --decoder-attention-heads 6",
    "transformer_wmt_en_de": "",
}


def sit(*words: Any) -> str:
    """Runs a command of the package, and returns what it prints."""
    return python("sit_fairseq", *words)


def python(module: str, *words: Any, **options: Any) -> str:
    """Runs a module, and returns what it prints; its last lines are the error if it fails."""
    command = [sys.executable, "-m", module, *map(str, words)]
    done = subprocess.run(
        command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options
    )
    if done.returncode:
        raise RuntimeError("\n".join(done.stdout.splitlines()[-5:]))
    return done.stdout


def data(folder: Path, size: int, *words: Any) -> Path:
    """Formulas and their binarised form."""
    text = folder / "text"
    sit("generate", *words, text, "--size", size, "--seed", 1)
    python(
        "fairseq_cli.preprocess",
        *("--source-lang", "src", "--target-lang", "tgt", "--joined-dictionary"),
        *("--trainpref", text, "--destdir", folder / "bin"),
    )
    return folder / "bin"


def renamings(device: str, small: bool, folder: Path) -> Found:
    """Asks each shipped model 2,000 sentences, then the same ones renamed, in equal batches."""
    size = 6 if small else 2000
    for name, asked in QUESTIONS.items():
        model = Model.load(ROOT / "checkpoints" / name, device=device)
        if callable(asked):
            sources = [source for source, _ in asked(min(size, 500))]
        else:
            kind, *options = asked
            sit("generate", kind, folder / name, "--size", min(size, 500), *options)
            sources = (folder / f"{name}.src").read_text().splitlines()
        pieces = ROOT / "checkpoints" / name / "spm.model"
        if pieces.exists():
            encode = sentencepiece.SentencePieceProcessor(model_file=str(pieces)).encode
            sources = [" ".join(encode(source, out_type=str)) for source in sources]
        sources = [sources[number % len(sources)] for number in range(size)]
        pairs = list(_renamed(sources, model.symbols, Random(1)))
        options = dict(beams=(3,), max_length=20, batch_size=256)
        first = model.answer(sources, **options)
        second = model.answer([renamed for _, renamed in pairs], **options)
        same = sum(
            renaming(one.text) == other.text and one.score == other.score
            for one, other, (renaming, _) in zip(first, second, pairs)
        )
        yield {"model": name, "renamings": size, "equal": same}


def _renamed(sources: Sequence[str], pattern: str, rng: Random) -> Iterator[Tuple[Any, str]]:
    """Each sentence with another order of its own symbols, as the model may be asked."""
    symbols = SymbolPattern(pattern)
    for source in sources:
        own = list(dict.fromkeys(filter(symbols.is_symbol, source.split())))
        (renaming,) = random_renamings(own, own, 1, rng, symbols)
        yield renaming, renaming(source)


def conversion(device: str, small: bool, folder: Path) -> Found:
    """Converts a transformer of each size and has the command compare both."""
    binary = data(folder, 200 if small else 2000, "prop")
    for name, sizes in list(SIZES.items())[: 1 if small else 2]:
        saved = folder / "saved"
        arch = "transformer_wmt_en_de" if not sizes else "transformer"
        python(
            "fairseq_cli.train",
            *(binary, "--save-dir", saved, "--arch", arch, *sizes.split(), "--optimizer", "adam"),
            *("--share-all-embeddings", "--batch-size", 64, "--max-update", 2, "--lr", 0.001),
            *("--disable-validation", "--no-epoch-checkpoints", "--num-workers", 0),
            *(("--cpu",) if device == "cpu" else ()),
        )
        started = time.perf_counter()
        printed = sit(
            *("convert", saved / "checkpoint_last.pt", folder / "converted.pt", "--overwrite"),
            *("--symbols", "[a-z]", "--actual", "a", "--placeholder", "b", "--device", device),
            *("--data", binary, "--verify"),
        )
        seconds = round(time.perf_counter() - started, 1)
        verified = [line for line in printed.splitlines() if "sentences" in line]
        yield {"size": name, "seconds": seconds, "verified": verified}


def speed(device: str, small: bool, folder: Path) -> Found:
    """Times training and search of models of the paper's sizes with random weights: float32 first."""
    sizes = (2,) if small else (64, 256, 1024, 4096)
    binary = str(data(folder, max(sizes) + 100, "prop", "--symbols", 5))
    ways = {"float32": sizes, "bfloat16": sizes, "torch.compile": sizes[2:3]}
    for way, kind in product(ways, KINDS):
        if ways[way]:
            dtype = "float32" if way == "torch.compile" else way
            subject = Subject(kind, "prop", binary, device, dtype)
            if way == "torch.compile":
                subject.model.compile(dynamic=True)
            for size in ways[way]:
                batches, row = subject.batches(size, 1), {"model": kind, "way": way, "batch": size}
                jobs: Dict[str, Callable[[], object]] = {"training": lambda: subject.train(batches)}
                if way != "torch.compile" and kind != "literal":
                    search = subject.generator(3, 20)
                    jobs["beam 3"] = lambda: subject.generate(search, batches)
                for job, case in jobs.items():
                    yield {**row, "job": job, **_measured(case, size, subject.device, small)}


def _measured(
    case: Callable[[], object], size: int, device: torch.device, small: bool
) -> Dict[str, Any]:
    """Sentences a second and the peak of memory in MiB; or what went wrong."""
    try:
        memory = PeakMemory(device)
        memory.reset()
        seconds = interleaved({"": case}, 1 if small else 3, device)[""]
        peak = memory.bytes()
    except Exception as error:  # the other models, dtypes and sizes are still measured
        return {"failed": f"{type(error).__name__}: {str(error).splitlines()[0]}"}
    return {"a second": round(size / seconds, 1), "MiB": peak and round(peak / 2**20)}


def recipes(device: str, small: bool, folder: Path) -> Found:
    """Trains by each configuration of ``examples/paper/hydra`` for most of a minute."""
    for logic in ("prop", "ltl"):
        (folder / logic).mkdir()
        binary = data(folder / logic, 100 if small else 4000, logic, "--symbols", 5)
        brief = ["common.cpu=true", "dataset.batch_size=4"] if small else []
        log = python(
            "fairseq_cli.hydra_train",
            *("--config-dir", ROOT / "examples" / "paper" / "hydra", "--config-name", logic),
            f"common.user_dir={ROOT / 'sit_fairseq'}",
            f"task.data={binary}",
            *(f"checkpoint.save_dir={folder / logic}", "checkpoint.no_save=true"),
            *("dataset.disable_validation=true", "dataset.num_workers=0", *brief),
            f"optimization.stop_time_hours={(8 if small else 40) / 3600}",
            *("common.log_format=json", f"common.log_interval={1 if small else 20}"),
            f"hydra.run.dir={folder / logic}",
        )
        yield {"recipe": logic, **_pace(log)}


def _pace(log: str) -> Dict[str, Any]:
    """Updates a second of the second half of a log of fairseq in JSON; and the hours of all."""
    entries = [json.loads(line[line.index("{") :]) for line in log.splitlines() if '"ups"' in line]
    rates = [float(entry["ups"]) for entry in entries]
    rate = statistics.mean(rates[len(rates) // 2 :])
    updates = int(re.search(r"'max_update': (\d+)", log)[1])
    hours = round(updates / rate / 3600, 2) if rate else None
    return {"updates a second": round(rate, 2), "updates": updates, "hours": hours}


PARTS = {part.__name__: part for part in (renamings, conversion, speed, recipes)}


def main() -> None:
    """Runs one part."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("out", type=Path, help="folder for the results")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    args = parser.parse_args()
    be_quiet()
    os.environ["PYTHONWARNINGS"] = "ignore"
    with TemporaryDirectory() as folder, open(args.out / f"{args.part}.jsonl", "w") as file:
        for found in PARTS[args.part](args.device, args.device == "cpu", Path(folder)):
            line = json.dumps(found)
            print(line, flush=True)
            file.write(line + "\n")
            file.flush()


if __name__ == "__main__":
    main()
