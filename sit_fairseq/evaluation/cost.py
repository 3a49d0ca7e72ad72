"""Time and memory against the number of symbols (appendix "Computational Cost Analysis").

The sentences are synthetic and equally long, so that only the number of streams differs.
"""

import gc
import random
import re
import statistics
import time
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence

import torch
from tqdm import tqdm

from sit_fairseq.domains.formulas.syntax import ARITY
from sit_fairseq.evaluation.answering import Answerer

_MIB = 2**20


def synthetic_sentences(
    symbols: Sequence[str],
    base_tokens: Sequence[str],
    length: int,
    count: int,
    rng: random.Random,
) -> List[str]:
    """Random sentences in which every symbol occurs.

    Args:
        symbols: at most ``(length + 1) / 2``.
        base_tokens: the other tokens of the model. With binary operators among them sentences are
            formulas in prefix notation of the least depth, else nothing but symbols.
        length: number of tokens; of formulas one more if it is even.
        count: how many sentences.
        rng: source of randomness.
    """
    operators = [token for token in base_tokens if ARITY.get(token) == 2]

    def formula(leaves: Sequence[str]) -> Iterator[str]:
        if len(leaves) > 1:
            yield rng.choice(operators)
            middle = len(leaves) // 2
            yield from formula(leaves[:middle])
            yield from formula(leaves[middle:])
        else:
            yield from leaves

    sentences = []
    for _ in range(count):
        number = length // 2 + 1 if operators else length
        leaves = [symbols[i % len(symbols)] for i in range(number)]
        rng.shuffle(leaves)
        sentences.append(" ".join(formula(leaves) if operators else leaves))
    return sentences


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


def measure_cost(
    answerer: Answerer,
    sentences: Dict[int, List[str]],
    repetitions: int,
    device: torch.device,
    clock: Callable[[], float] = time.perf_counter,
) -> Dict[str, Dict[str, Any]]:
    """Answers sentences repeatedly.

    Args:
        answerer: answers them.
        sentences: as many for each number of symbols.
        repetitions: how often to measure, after once without measuring the time.
        device: where the answers are computed.
        clock: seconds.

    Returns:
        For each number of symbols, fewest first, seconds for one sentence (the median, and each
        repetition), peak memory in bytes beyond the loaded model (None where it cannot be told),
        and the mean lengths of sentences and answers in tokens.
    """
    # What the first use ever allocates belongs to no number of symbols.
    list(answerer.decode(sentences[min(sentences)][:1]))
    memory = PeakMemory(device)
    result = {}
    with tqdm(total=len(sentences) * (repetitions + 1), unit=" repetitions") as bar:
        for count, sources in sorted(sentences.items()):
            memory.reset()
            seconds: List[float] = []
            for _ in range(repetitions + 1):
                started = clock()
                batches = list(answerer.decode(sources))
                seconds.append((clock() - started) / len(sources))
                bar.update()
            answers = [entry.answers[0] for batch in batches for entry in batch.values()]
            result[str(count)] = {
                "median_seconds": statistics.median(seconds[1:]),
                "seconds": seconds[1:],
                "peak_memory": memory.bytes(),
                "mean_source_tokens": _mean_length(sources),
                "mean_answer_tokens": _mean_length(answers),
            }
    return result


def _mean_length(lines: Sequence[str]) -> float:
    return statistics.fmean(len(line.split()) for line in lines)


def cost_series(result: Dict[str, Dict[str, Any]]) -> Dict[str, List[Optional[float]]]:
    """Milliseconds per sentence and mebibytes by number of symbols, named for people."""
    memory = [entry["peak_memory"] for entry in result.values()]
    return {
        "ms per sentence": [1000 * entry["median_seconds"] for entry in result.values()],
        "peak memory (MiB)": [None if peak is None else peak / _MIB for peak in memory],
    }


def cost_table(result: Dict[str, Dict[str, Any]]) -> List[List[Any]]:
    """The rows of a table for people."""
    series = cost_series(result)
    rows = [["symbols", *series, "source tokens", "answer tokens"]]
    for (count, entry), time_, memory in zip(result.items(), *series.values()):
        shown = "unknown" if memory is None else f"{memory:.0f}"
        lengths = (f"{entry[f'mean_{side}_tokens']:.1f}" for side in ("source", "answer"))
        rows.append([count, f"{time_:.2f}", shown, *lengths])
    return rows
