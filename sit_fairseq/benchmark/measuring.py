"""Times, operations and memory, so that they can be compared within one run."""

import logging
import statistics
import time
import warnings
from multiprocessing import get_context
from typing import Any, Callable, Dict, List

import torch
from torch.utils.flop_counter import FlopCounterMode, sdpa_flop_count
from tqdm import tqdm

from sit_fairseq.evaluation.cost import PeakMemory


def be_quiet() -> None:
    """Keeps fairseq's log and its warnings of deprecations out of the tables."""
    logging.disable(logging.INFO)
    warnings.simplefilter("ignore")


def interleaved(
    cases: Dict[str, Callable[[], object]], repetitions: int, device: torch.device
) -> Dict[str, List[float]]:
    """Times several things in turn, so that a slow minute of the machine meets all of them.

    Args:
        cases: what to time, by name; each is called once before, for what the first use costs.
        repetitions: how often.
        device: its work is waited for.

    Returns:
        The seconds of each repetition of each case.
    """

    def finish() -> None:
        if device.type == "cuda":
            torch.cuda.synchronize(device)

    seconds: Dict[str, List[float]] = {name: [] for name in cases}
    for repetition in tqdm(range(repetitions + 1), unit=" rounds", leave=False):
        for name, case in cases.items():
            finish()
            started = time.perf_counter()
            case()
            finish()
            if repetition:
                seconds[name].append(time.perf_counter() - started)
    return seconds


def medians(seconds: Dict[str, List[float]]) -> Dict[str, float]:
    """The median of each case."""
    return {name: statistics.median(values) for name, values in seconds.items()}


def _attention_operations(query_shape, key_shape, value_shape, *args, **kwargs) -> int:
    return sdpa_flop_count(query_shape, key_shape, value_shape)


def operations(case: Callable[[], object]) -> int:
    """The floating-point operations of the matrix products of a case, two for each
    multiply-add. Custom backward passes may compute things twice: count a forward pass."""
    # The kernel that torch's counter does not know.
    fused = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    unknown: Dict[Any, Callable[..., int]] = {fused: _attention_operations}
    counter = FlopCounterMode(display=False, custom_mapping=unknown)
    with counter:
        case()
    return counter.get_total_flops()


def matrix_product(
    rows: int, width: int, hidden: int, times: int, device: torch.device, dtype: torch.dtype
) -> Callable[[], object]:
    """Products of (rows, width) and (width, hidden) matrices, so many times.

    Their rate is what the machine can do at the width of a feed-forward network.
    """
    left = torch.randn(rows, width, device=device, dtype=dtype)
    right = torch.randn(width, hidden, device=device, dtype=dtype)
    out = torch.empty(rows, hidden, device=device, dtype=dtype)

    def case() -> None:
        for _ in range(times):
            torch.mm(left, right, out=out)

    return case


def peak_memory(prepare: Callable[..., Callable[[], object]], *args) -> int:
    """The most memory that a case needs beyond what it was prepared with, in bytes.

    Measured in a process of its own, since memory that was freed is not given back.

    Args:
        prepare: a function of a module, called with ``args`` in that process; it returns the
            case and its device.
    """
    with get_context("spawn").Pool(1) as pool:
        return pool.apply(_peak_memory, (prepare, torch.get_num_threads(), *args))


def _peak_memory(prepare, threads: int, *args) -> int:
    be_quiet()
    torch.set_num_threads(threads)
    case, device = prepare(*args)
    memory = PeakMemory(device)
    memory.reset()
    case()
    return memory.bytes()
