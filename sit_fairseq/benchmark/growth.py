"""Time and memory against the number of symbols in a sentence; ragged batches."""

import random
from pathlib import Path
from typing import Callable, Dict, List

from sit_fairseq.benchmark.bench import MIB, Bench
from sit_fairseq.benchmark.measuring import medians, peak_memory
from sit_fairseq.benchmark.subjects import Subject
from sit_fairseq.evaluation import plots
from sit_fairseq.evaluation.cost import synthetic_sentences

GROWTH = [1, 2, 5, 10, 20, 50, 100]


def _formulas(symbols: int, length: int, count: int) -> List:
    """Pairs of a formula of that length with so many symbols, and an answer of 20 tokens."""
    rng = random.Random(1)
    names = [f"p{number}" for number in range(symbols)]
    sources = synthetic_sentences(names, ["&", "|", "xor", "<->"], length, count, rng)
    answer = " ".join(f"{names[number % symbols]} 1" for number in range(10))
    return [(source, answer) for source in sources]


def growth_case(data: str, device: str, dtype: str, job: str, symbols: int, answer: int):
    """A case for ``peak_memory``: one formula of 199 tokens, to train on or to answer."""
    subject = Subject.build("package", "prop", data, device, dtype)
    case = _job(subject, job, answer)
    case([subject.sentences(_formulas(2, 9, 1))])
    batch = [subject.sentences(_formulas(symbols, 199, 1))]
    return lambda: case(batch), subject.device


def _job(subject: Subject, job: str, answer: int = 20) -> Callable[[List], None]:
    if job == "training":
        return subject.train
    search = subject.generator(3, answer)
    return lambda batches: subject.generate(search, batches)


def measure_growth(bench: Bench) -> None:
    """The part ``growth``."""
    name, jobs = "prop, 5 symbols", ("training", "beam 3")
    subject = bench.subject("package", name)
    formulas = {count: [subject.sentences(_formulas(count, 199, 1))] for count in GROWTH}
    seconds, memory = {}, {}
    options = (bench.data(name), bench.args.device, bench.args.dtype)
    for job in jobs:
        case = _job(subject, job)
        seconds[job] = bench.time(
            {str(count): lambda c=case, b=batch: c(b) for count, batch in formulas.items()}
        )
        memory[job] = {
            str(count): peak_memory(growth_case, *options, job, count, 20) for count in GROWTH
        }
    longest = peak_memory(growth_case, *options, "beam 3", GROWTH[-1], 200)
    bench.found["growth"] = {"seconds": seconds, "memory": memory, "200 tokens": longest}
    middle = {job: medians(seconds[job]) for job in jobs}
    rows = [["symbols", *(f"{job}, {unit}" for job in jobs for unit in ("ms", "ms/symbol", "MiB"))]]
    for count in GROWTH:
        row = [str(count)]
        for job in jobs:
            spent = 1000 * middle[job][str(count)]
            row += [f"{spent:.0f}", f"{spent / count:.1f}", f"{memory[job][str(count)] / MIB:.0f}"]
        rows.append(row)
    bench.table("One formula of 199 tokens, answers of 20 tokens", rows)
    bench.table(
        f"One formula of 199 tokens with {GROWTH[-1]} symbols, answers of 200 tokens, beam 3",
        [["peak memory beyond the model, MiB"], [f"{longest / MIB:.0f}"]],
    )
    _draw_growth(middle, memory, bench.args.result / "growth.png")
    _ragged(bench, subject)


def _ragged(bench: Bench, subject: Subject) -> None:
    """A batch of unequal sentences against its parts."""
    many, few = _formulas(50, 101, 1), _formulas(2, 101, 63)
    parts = {"50 symbols": many, "63 with 2": few, "both": many + few}
    found = bench.found["ragged"] = {}
    rows = [["formulas of 101 tokens", *(f"{part}, ms" for part in parts), "both / sum of parts"]]
    for job in ("training", "beam 3"):
        case = _job(subject, job)
        batches = {part: [subject.sentences(pairs)] for part, pairs in parts.items()}
        found[job] = bench.time(
            {part: lambda c=case, b=batch: c(b) for part, batch in batches.items()}
        )
        one, rest, both = medians(found[job]).values()
        rows.append(
            [
                job,
                *(f"{1000 * value:.0f}" for value in (one, rest, both)),
                f"{both / (one + rest):.2f}",
            ]
        )
    bench.table("One sentence with 50 symbols among 63 with 2", rows)


def _draw_growth(middle: Dict, memory: Dict, path: Path) -> None:
    figure = plots.new_figure(9, 3.5)
    axes = figure.add_subplot(1, 2, 1)
    for job, values in middle.items():
        axes.plot(GROWTH, list(values.values()), "o-", label=job)
    axes.set_ylabel("seconds for a formula (median)")
    right = figure.add_subplot(1, 2, 2)
    for job, values in memory.items():
        right.plot(GROWTH, [value / MIB for value in values.values()], "o-", label=job)
    right.set_ylabel("peak memory beyond the model (MiB)")
    for each in (axes, right):
        each.set_xlabel("symbols in the formula")
        each.set_ylim(bottom=0)
        each.grid(alpha=0.3)
        each.legend()
    plots.save_png(figure, str(path))
