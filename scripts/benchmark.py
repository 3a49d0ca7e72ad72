"""Speed and memory against the paper's algorithms as written, and fairseq's transformer.

    python scripts/benchmark.py outputs/benchmark
    python scripts/benchmark.py outputs/judging --parts growth judging

compares three models in one process, interleaved, each with random weights and fairseq's
own trainer and generator: the *package*; the *literal* algorithms, a plain tensor program in
which every symbol of the dictionary is a stream (``sit_fairseq/benchmark/literal_model.py``);
and fairseq's *stock* transformer, with the size of the paper's baselines. Writes
``benchmark.json``, ``benchmark.md`` and ``growth.png`` into the directory. Only ratios of one
run mean anything. Parts:

- ``models``: training, validation and generation on formulas of up to 35 tokens; operations
- ``memory``: the peak of training
- ``growth``: against the number of symbols in a sentence; ragged batches
- ``judging``: judges against each other, and decoding with and without them
- ``start``: fairseq-generate up to its first answer
"""

import argparse
import json
import os
import platform
import tempfile
import time
from pathlib import Path
from typing import Any, Dict

import torch

from sit_fairseq.benchmark.bench import Bench
from sit_fairseq.benchmark.growth import measure_growth
from sit_fairseq.benchmark.judging import measure_judging
from sit_fairseq.benchmark.measuring import be_quiet
from sit_fairseq.benchmark.models import compare_memory, compare_models
from sit_fairseq.benchmark.start import compare_start
from sit_fairseq.errors import UserError
from sit_fairseq.evaluation import plots
from sit_fairseq.evaluation.result_file import versions
from sit_fairseq.files import replacing

ROOT = Path(__file__).resolve().parent.parent

PARTS = {
    "models": compare_models,
    "memory": compare_memory,
    "growth": measure_growth,
    "judging": measure_judging,
    "start": compare_start,
}


def machine(args: argparse.Namespace) -> Dict[str, Any]:
    """What was measured on."""
    name = platform.processor()
    if os.path.exists("/proc/cpuinfo"):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        name = next((line.split(": ")[1] for line in lines if line.startswith("model name")), name)
    if args.device == "cuda":
        name = f"{torch.cuda.get_device_name()}, {name}"
    return {
        "machine": name,
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "dtype": args.dtype,
        "load before": os.getloadavg()[0],
        **versions(),
    }


def check(args: argparse.Namespace) -> None:
    """Refuses what cannot be measured, before anything is.

    Raises:
        UserError: naming the option at fault.
    """
    for option in ("repetitions", "threads", "batch_size", "batches"):
        if getattr(args, option) < 1:
            raise UserError(f"--{option.replace('_', '-')} {getattr(args, option)}: at least 1.")
    if args.device == "cuda" and not torch.cuda.is_available():
        raise UserError("--device cuda: there is no GPU that torch can use; leave it out.")
    if args.result.is_file() or (args.result / "benchmark.json").exists():
        raise UserError(f"{args.result} holds results already; name another directory.")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("result", type=Path, help="directory for the results")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--dtype", choices=("float32", "float16", "bfloat16"), default="float32")
    parser.add_argument("--batch-size", type=int, default=64, help="sentences in a batch")
    parser.add_argument("--batches", type=int, default=1, help="batches, from short to long")
    args = parser.parse_args()
    check(args)
    plots.require_matplotlib()
    be_quiet()
    torch.set_num_threads(args.threads)
    args.result.mkdir(parents=True, exist_ok=True)
    found: Dict[str, Any] = {"machine": machine(args)}
    started = time.time()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(args, ROOT, Path(folder), found, [])
        for part in args.parts:
            PARTS[part](bench)
    found["seconds"] = time.time() - started
    head = "; ".join(f"{key}: {value}" for key, value in found["machine"].items())
    for name, text in {
        "benchmark.json": json.dumps(found, indent=1),
        "benchmark.md": "\n".join([head, "", *bench.report]),
    }.items():
        with replacing(str(args.result / name)) as (file,):
            file.write(text)


if __name__ == "__main__":
    main()
