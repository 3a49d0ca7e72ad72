"""All parts of the benchmark, one after the other, and their results."""

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
from sit_fairseq.storage.files import replacing

PARTS = {
    "models": compare_models,
    "memory": compare_memory,
    "growth": measure_growth,
    "judging": measure_judging,
    "start": compare_start,
}


def _machine(args: argparse.Namespace) -> Dict[str, Any]:
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


def _check(args: argparse.Namespace) -> None:
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


def run(args: argparse.Namespace) -> None:
    """Measures, and writes ``benchmark.json`` and ``benchmark.md``.

    Args:
        args: the options of ``sit benchmark``.

    Raises:
        UserError: one cannot be used.
    """
    _check(args)
    plots.require_matplotlib()
    be_quiet()
    torch.set_num_threads(args.threads)
    args.result.mkdir(parents=True, exist_ok=True)
    found: Dict[str, Any] = {"machine": _machine(args)}
    started = time.time()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(args, Path(folder), found, [])
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
