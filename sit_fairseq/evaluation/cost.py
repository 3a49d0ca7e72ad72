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

from sit_fairseq.errors import UserError
from sit_fairseq.evaluation import plots
from sit_fairseq.evaluation.answering import Decoder
from sit_fairseq.evaluation.run import EvaluationRun
from sit_fairseq.evaluation.settings import Checkpoint
from sit_fairseq.logic.syntax import ARITY, tokenize

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
        symbols: the symbols, at most ``(length + 1) / 2``.
        base_tokens: what the model knows beside them. If binary operators are among them,
            the sentences are formulas in prefix notation of the least depth, else nothing but
            symbols.
        length: number of tokens; of formulas one more if it is even.
        count: how many.
        rng: source of randomness.

    Returns:
        The sentences.
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

    On a GPU that is what torch's allocator has handed out. On a CPU it is the resident set of
    this process as Linux counts it, so that memory kept for later use counts too: measure what
    needs least first.

    Args:
        device: where the model is.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        gc.collect()
        self._start = self._now()

    def reset(self) -> None:
        """Forgets the peak so far."""
        if self._device.type == "cuda":
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
        if self._device.type == "cuda":
            return torch.cuda.max_memory_allocated(self._device) - self._start
        return max(0, _status("VmHWM") - self._start)

    def _now(self) -> Optional[int]:
        if self._device.type == "cuda":
            return torch.cuda.memory_allocated(self._device)
        try:
            return _status("VmRSS")
        except OSError:  # not Linux
            return None


def _status(name: str) -> int:
    """A number of bytes that Linux gives for this process."""
    with open("/proc/self/status") as file:
        return 1024 * int(re.search(rf"^{name}:\s+(\d+) kB", file.read(), re.MULTILINE).group(1))


def measure_cost(
    decoder: Decoder,
    sentences: Dict[int, List[str]],
    repetitions: int,
    device: torch.device,
    clock: Callable[[], float] = time.perf_counter,
) -> Dict[str, Dict[str, Any]]:
    """Answers sentences repeatedly.

    Args:
        decoder: answers them; its answers are complete when it returns them.
        sentences: as many for each number of symbols, fewest symbols first.
        repetitions: how often to measure, after once without measuring the time.
        device: where the decoder computes.
        clock: seconds.

    Returns:
        For each number of symbols the median seconds for one sentence and those of each
        repetition, the peak memory in bytes beyond the loaded model (None where it cannot be
        told), and the mean lengths of sentences and of answers.
    """
    # What the first use ever allocates belongs to no number of symbols.
    list(decoder.decode(sentences[min(sentences)][:1]))
    memory = PeakMemory(device)
    result = {}
    with tqdm(total=len(sentences) * (repetitions + 1), unit=" repetitions") as bar:
        for count, sources in sorted(sentences.items()):
            memory.reset()
            seconds: List[float] = []
            for _ in range(repetitions + 1):
                started = clock()
                answers = [nbest[0] for _, batch in decoder.decode(sources) for nbest in batch]
                seconds.append((clock() - started) / len(sources))
                bar.update()
            result[str(count)] = {
                "median_seconds": statistics.median(seconds[1:]),
                "seconds": seconds[1:],
                "peak_memory": memory.bytes(),
                "mean_source_tokens": _mean_length(sources),
                "mean_answer_tokens": _mean_length(answers),
            }
    return result


def _mean_length(lines: Sequence[str]) -> float:
    return statistics.fmean(len(tokenize(line)) for line in lines)


def _mebibytes(entry: Dict[str, Any]) -> Optional[float]:
    return None if entry["peak_memory"] is None else entry["peak_memory"] / _MIB


def cost_table(result: Dict[str, Dict[str, Any]]) -> List[List[Any]]:
    """The rows of a table for people."""
    rows = [["symbols", "ms per sentence", "peak memory (MiB)", "source tokens", "answer tokens"]]
    for count, entry in result.items():
        memory = _mebibytes(entry)
        rows.append(
            [
                count,
                f"{1000 * entry['median_seconds']:.2f}",
                "unknown" if memory is None else f"{memory:.0f}",
                f"{entry['mean_source_tokens']:.1f}",
                f"{entry['mean_answer_tokens']:.1f}",
            ]
        )
    return rows


def draw_cost(result: Dict[str, Dict[str, Any]], path: str) -> None:
    """Draws time and memory against the number of symbols.

    Args:
        result: of :func:`measure_cost`.
        path: the PNG file to write.
    """
    figure = plots.new_figure(9, 3.5)
    counts = list(map(int, result))
    series = {
        "ms per sentence (median)": [1000 * entry["median_seconds"] for entry in result.values()],
        "peak memory (MiB)": list(map(_mebibytes, result.values())),
    }
    for position, (label, values) in enumerate(series.items(), start=1):
        axes = figure.add_subplot(1, 2, position)
        if None not in values:
            axes.plot(counts, values, "o-")
        axes.set_xticks(counts)
        axes.set_xlabel("symbols")
        axes.set_ylabel(label)
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
    plots.save_png(figure, path)


def evaluate_cost(
    run: EvaluationRun,
    checkpoint: Checkpoint,
    *,
    counts: Sequence[int],
    samples: int,
    repetitions: int,
    length: Optional[int],
    seed: int,
) -> None:
    """Measures what a model costs.

    Args:
        run: writes the result file, the figure and the table.
        checkpoint: the model to ask.
        counts: numbers of symbols.
        samples: sentences for each.
        repetitions: measurements of each.
        length: tokens per sentence; None for 35, or more if so many symbols need it.
        seed: of the sentences.

    Raises:
        UserError: a file or an option cannot be used.
    """
    plots.require_matplotlib()
    if samples < 1 or repetitions < 1:
        raise UserError(
            f"--samples {samples} --repetitions {repetitions}: both must be at least 1."
        )
    most = max(counts)
    length = max(35, 2 * most - 1) if length is None else length
    if length < 2 * most - 1:
        raise UserError(f"--length {length}: {most} symbols need at least {2 * most - 1} tokens.")
    decoder = checkpoint.load(run)
    run.uses_options(repetitions=repetitions, length=length)
    names, rng = decoder.symbol_names(most), random.Random(seed)
    sentences = {
        count: synthetic_sentences(names[:count], decoder.base_tokens, length, samples, rng)
        for count in counts
    }
    device = torch.device(checkpoint.search.device)
    result = measure_cost(decoder, sentences, repetitions, device)
    draw_cost(result, run.beside(".png"))
    run.finish(result, samples * len(counts), cost_table(result))
