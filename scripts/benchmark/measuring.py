"""Times, operations and memory, so that they can be compared within one run."""

import gc
import logging
import re
import statistics
import time
import warnings
from multiprocessing import get_context
from typing import Any, Callable, Dict, List, Optional

import torch
from torch.utils.flop_counter import FlopCounterMode, sdpa_flop_count
from tqdm import tqdm

Cases = Dict[str, Callable[[], object]]


def interleaved(cases: Cases, repetitions: int, device: torch.device) -> Dict[str, float]:
    """Times several things in turn; one thread on a CPU by its own time, which other work on the
    machine does not lengthen.

    Args:
        cases: what to time, by name; each is called once before, for what the first use costs.
        repetitions: how often.
        device: its work is waited for.

    Returns:
        The median seconds of each.
    """
    alone = device.type == "cpu" and torch.get_num_threads() == 1
    clock = time.process_time if alone else time.perf_counter
    finish = torch.cuda.synchronize if device.type == "cuda" else lambda: None
    seconds: Dict[str, List[float]] = {name: [] for name in cases}
    for repetition in tqdm(range(repetitions + 1), unit=" rounds", leave=False):
        for name, case in cases.items():
            finish()
            started = clock()
            case()
            finish()
            if repetition:
                seconds[name].append(clock() - started)
    return {name: statistics.median(values) for name, values in seconds.items()}


def operations(case: Callable[[], object]) -> int:
    """The floating-point operations of the matrix products of a case, two for a multiply-add.

    Custom backward passes may compute things twice: count a forward pass.
    """

    def count(query: Any, key: Any, value: Any, *args: Any, **kwargs: Any) -> int:
        return sdpa_flop_count(query, key, value)

    # The kernel that torch's counter does not know.
    fused = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    with FlopCounterMode(display=False, custom_mapping={fused: count}) as counter:
        case()
    return counter.get_total_flops()


class PeakMemory:
    """The most memory used, beyond what was in use when this object was made.

    On a GPU it is what torch's allocator has handed out; on a CPU the resident set of the process,
    where memory kept for later use counts too, so that what needs least is to be measured first.
    """

    def __init__(self, device: torch.device) -> None:
        gc.collect()
        self._on_gpu = device.type == "cuda"
        self._device = device
        self._start = torch.cuda.memory_allocated(device) if self._on_gpu else _status("VmRSS")

    def reset(self) -> None:
        """Forgets the peak so far."""
        if self._on_gpu:
            torch.cuda.reset_peak_memory_stats(self._device)
            return
        try:
            with open("/proc/self/clear_refs", "w") as file:
                file.write("5")
        except OSError:
            self._start = None

    def bytes(self) -> Optional[int]:
        """The peak since the last reset; None where it cannot be told."""
        if self._start is None:
            return None
        peak = torch.cuda.max_memory_allocated if self._on_gpu else lambda _: _status("VmHWM")
        return max(0, peak(self._device) - self._start)


def _status(name: str) -> Optional[int]:
    """A number of bytes that Linux gives for this process; None on other systems."""
    try:
        with open("/proc/self/status") as file:
            return 1024 * int(re.search(rf"^{name}:\s+(\d+) kB", file.read(), re.M).group(1))
    except OSError:
        return None


def peak_memory(prepare: Callable[..., Any], *args: Any) -> List[Optional[int]]:
    """The most bytes that each of some cases needs beyond what all were prepared with; None if it
    cannot be told.

    Measured in a process of its own, since memory that was freed is not given back.

    Args:
        prepare: a function of a module; it returns the cases, those that need least first, and their
            device.
        args: its arguments.
    """
    with get_context("spawn").Pool(1) as pool:
        return pool.apply(_peak_memory, (prepare, torch.get_num_threads(), args))


def _peak_memory(prepare: Callable[..., Any], threads: int, args: Any) -> List[Optional[int]]:
    be_quiet()
    torch.set_num_threads(threads)
    cases, device = prepare(*args)
    memory, found = PeakMemory(device), []
    for case in cases:
        memory.reset()
        case()
        found.append(memory.bytes())
    return found


def be_quiet() -> None:
    """Keeps fairseq's log and its warnings of deprecations out of the tables."""
    logging.disable(logging.INFO)
    warnings.simplefilter("ignore")
