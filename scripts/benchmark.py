"""Speed and memory against the paper's algorithms as written, and fairseq's transformer.

    python scripts/benchmark.py outputs/benchmark
    python scripts/benchmark.py outputs/benchmark --parts growth judging

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
import random
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Dict, List

import torch

import sit_fairseq  # noqa: F401  registers the plug-in with fairseq
from sit_fairseq.benchmark.measuring import (
    be_quiet,
    interleaved,
    matrix_product,
    medians,
    operations,
    peak_memory,
)
from sit_fairseq.benchmark.subjects import KINDS, Subject, training_case
from sit_fairseq.data.generated_files import read_pairs, replacing
from sit_fairseq.evaluation import plots
from sit_fairseq.evaluation.answer_journal import Answered, AnswerJournal
from sit_fairseq.evaluation.answering import answer_all
from sit_fairseq.evaluation.cost import synthetic_sentences
from sit_fairseq.evaluation.decoding import CheckpointDecoder, DecodingOptions
from sit_fairseq.evaluation.result_file import markdown_table, versions
from sit_fairseq.validation.judge import make_judge
from sit_fairseq.validation.pool import JudgePool

ROOT = Path(__file__).resolve().parent.parent
MIB = 2**20

# Data by name: the generator, its options, and whose sizes the models have.
DATA = {
    "prop, 5 symbols": ("prop", ["--symbols", "5"], "prop"),
    "prop, 10 symbols": ("prop", ["--symbols", "10"], "prop"),
    "ltl, 5 symbols": ("ltl", ["--symbols", "5"], "ltl"),
}
# Tokens of an answer, about as many as the longest ones have.
ANSWER = {"prop": 20, "ltl": 30}
# Who is asked for 25 hypotheses.
BEAM_25 = ("package", "stock")
GROWTH = [1, 2, 5, 10, 20, 50, 100]


@dataclass
class Bench:
    """The options, where data is, and what was found so far.

    Attributes:
        args: the command line.
        folder: for data.
        found: by part, what goes into the JSON file.
        report: the lines of the report so far.
    """

    args: argparse.Namespace
    folder: Path
    found: Dict[str, Any]
    report: List[str]

    @property
    def device(self) -> torch.device:
        """Where the models compute."""
        return torch.device(self.args.device)

    def subject(self, kind: str, name: str) -> Subject:
        """A model for one of the sets of data."""
        return Subject.build(
            kind, DATA[name][2], self.data(name), self.args.device, self.args.dtype
        )

    def data(self, name: str) -> str:
        """The directory of a set of data, made when first asked for."""
        generator, options, _ = DATA[name]
        folder = self.folder / name.replace(", ", "-").replace(" ", "-")
        if not folder.is_dir():
            text = f"{folder}.text"
            _run(
                f"scripts/generate_{generator}.py", text, *options, "--size", "1000", "--seed", "1"
            )
            _run(
                *("-m", "fairseq_cli.preprocess", "--source-lang", "src", "--target-lang", "tgt"),
                *("--joined-dictionary", "--destdir", folder),
                *(f"--{split}pref={text}" for split in ("train", "test")),
            )
        return str(folder)

    def text(self, name: str) -> List:
        """The sentences of a set of data, as pairs."""
        return read_pairs(f"{self.data(name)}.text")

    def time(self, cases: Dict[str, Callable[[], object]]) -> Dict[str, List[float]]:
        """Times cases in turn, as often as asked for."""
        return interleaved(cases, self.args.repetitions, self.device)

    def table(self, title: str, rows: List[List[Any]]) -> None:
        """Adds a table to the report."""
        print(f"\n{title}\n\n{markdown_table(rows)}")
        self.report += [f"### {title}", "", markdown_table(rows), ""]


def _run(*command: Any) -> None:
    """Runs one of Python's scripts or modules from the root of the repository."""
    result = subprocess.run(
        [sys.executable, *map(str, command)], cwd=ROOT, capture_output=True, text=True
    )
    if result.returncode:
        sys.exit(result.stderr)


def benchmark_models(bench: Bench) -> None:
    """The part ``models``."""
    found = bench.found["models"] = {}
    for name in DATA:
        subjects = {kind: bench.subject(kind, name) for kind in KINDS}
        batches = {
            kind: subject.batches("train", bench.args.batch_size, bench.args.batches)
            for kind, subject in subjects.items()
        }
        # A forward pass and twice as many operations for the gradients.
        count = {
            kind: 3 * operations(lambda: subjects[kind].forward(batches[kind])) for kind in KINDS
        }
        found[name] = {"operations of training": count}
        _speed(bench, name, subjects, batches)
        _rates(bench, name, subjects["package"], batches["package"])


def _speed(bench: Bench, name: str, subjects: Dict, batches: Dict) -> None:
    """Training, validation and generation of the three models."""
    answer, size = ANSWER[DATA[name][2]], bench.args.batch_size
    # Many hypotheses of many streams: fewer sentences, and not by the literal program.
    few = {kind: subjects[kind].batches("train", max(1, size // 4), 1) for kind in BEAM_25}
    jobs: Dict[str, Dict[str, Callable]] = {
        "training": {k: lambda k=k: subjects[k].train(batches[k]) for k in KINDS},
        "validation": {k: lambda k=k: subjects[k].validate(batches[k]) for k in KINDS},
    }
    for job, beam, samples in (("beam 3", 3, batches), ("beam 25", 25, few)):
        searches = {kind: subjects[kind].generator(beam, answer) for kind in samples}
        jobs[job] = {
            k: lambda k=k, search=search, samples=samples: subjects[k].generate(search, samples[k])
            for k, search in searches.items()
        }
    found = bench.found["models"][name]["seconds"] = {}
    rows = [
        ["", *(f"{kind}, sentences/s" for kind in KINDS), "literal / package", "package / stock"]
    ]
    for job, cases in jobs.items():
        found[job] = bench.time(cases)
        middle = medians(found[job])
        answered = _count((few if job == "beam 25" else batches)["stock"])
        rows.append([job, *(f"{answered / middle[k]:.1f}" if k in middle else "" for k in KINDS)])
        for above, below in (("literal", "package"), ("package", "stock")):
            rows[-1].append(f"{middle[above] / middle[below]:.2f}" if above in middle else "")
    count = _count(batches["stock"])
    bench.table(f"{name}: batches of {size}, {count} sentences, answers of {answer} tokens", rows)


def _count(batches: List) -> int:
    return sum(len(sample["id"]) for sample in batches)


def _rates(bench: Bench, name: str, package: Subject, batches: List) -> None:
    """Operations against time, beside what a matrix product achieves."""
    tokens = sum(sample["net_input"]["src_tokens"].numel() for sample in batches)
    layer = package.model.encoder.layers[0].fc1
    product = matrix_product(
        tokens, layer.in_features, layer.out_features, 50, bench.device, layer.weight.dtype
    )
    found = bench.found["models"][name]
    # In turn with a training step, for the same weather.
    seconds = bench.time({"product": product, "training": lambda: package.train(batches)})
    middle = {**medians(found["seconds"]["training"]), "package": medians(seconds)["training"]}
    count = found["operations of training"]
    rate = {kind: count[kind] / middle[kind] / 1e9 for kind in KINDS}
    best = operations(product) / medians(seconds)["product"] / 1e9
    found["GFLOP/s"] = {**rate, "matrix product": best}
    rows = [["training", "GFLOP for each sentence", "GFLOP/s", "of the matrix product"]]
    for kind in KINDS:
        share = f"{rate[kind] / best:.0%}"
        rows.append(
            [kind, f"{count[kind] / _count(batches) / 1e9:.3f}", f"{rate[kind]:.1f}", share]
        )
    shape = f"{tokens} x {layer.in_features} x {layer.out_features}"
    rows.append([f"matrix product, {shape}", "", f"{best:.1f}", ""])
    middle = medians(found["seconds"]["training"])
    times, work = (values["package"] / values["stock"] for values in (middle, count))
    bench.table(
        f"{name}: package / stock takes {times:.2f} of the time for {work:.2f} of the operations, "
        f"{times / work:.2f}",
        rows,
    )


def benchmark_memory(bench: Bench) -> None:
    """The part ``memory``."""
    found = bench.found["memory"] = {}
    rows = [["peak of training, MiB", *KINDS, "package / literal"]]
    for name, (_, _, recipe) in DATA.items():
        found[name] = {
            kind: peak_memory(
                training_case,
                *(kind, recipe, bench.data(name), "train"),
                *(bench.args.batch_size, 1, bench.args.device, bench.args.dtype),
            )
            for kind in KINDS
        }
        own = found[name]
        mebibytes = [f"{own[kind] / MIB:.0f}" for kind in KINDS]
        rows.append([name, *mebibytes, f"{own['package'] / own['literal']:.2f}"])
    bench.table("Memory beyond the model", rows)


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


def benchmark_growth(bench: Bench) -> None:
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


def benchmark_judging(bench: Bench) -> None:
    """The part ``judging``: one process each for decoding and for judging."""
    pairs = bench.text("prop, 5 symbols")
    few = pairs[:20]
    bits, aiger = make_judge("prop", "bits"), make_judge("prop", "aiger")
    seconds = bench.time(
        {
            "bits": lambda: [bits.verify(*pair) for pair in pairs],
            "aiger": lambda: [aiger.verify(*pair) for pair in few],
        }
    )
    middle = medians(seconds)
    each = {"bits": middle["bits"] / len(pairs), "aiger": middle["aiger"] / len(few)}
    bench.found["judging"] = {"seconds": seconds, "seconds for one": each}
    bench.table(
        "Judging a pair of prop, 5 symbols",
        [
            ["bits, microseconds", "py-aiger", "py-aiger / bits"],
            [*(f"{1e6 * each[j]:.0f}" for j in each), f"{each['aiger'] / each['bits']:.0f}"],
        ],
    )
    _overlap(bench)


def _overlap(bench: Bench) -> None:
    """How much of judging is hidden behind decoding, where both take about as long."""
    size, text = 600, bench.folder / "short"
    options = ("--symbols", "5", "--max-length", "10", "--min-length", "7", "--seed", "3")
    _run("scripts/generate_prop.py", text, *options, "--size", str(size))
    sources = [source for source, _ in read_pairs(str(text))]
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    checkpoint = str(ROOT / "checkpoints/prop/model.pt")
    decoder = CheckpointDecoder(checkpoint, DecodingOptions(beam=25, max_len_b=30))

    def answer(judges=None) -> List[Answered]:
        with tempfile.TemporaryDirectory() as folder:
            with AnswerJournal(os.path.join(folder, "journal"), {}) as journal:
                return answer_all(decoder, sources, journal, judges)

    pairs = [(s, answered.answers[0]) for s, answered in zip(sources, answer())]
    with JudgePool("prop", "aiger", workers=1) as judges:
        judges.start()
        seconds = bench.time(
            {
                "decoding": answer,
                "judging": lambda: judges.verify_all(pairs),
                "both": lambda: answer(judges),
            }
        )
    torch.set_num_threads(threads)
    decoding, judging, both = medians(seconds).values()
    hidden = (decoding + judging - both) / min(decoding, judging)
    bench.found["overlap"] = {"seconds": seconds, "hidden": hidden}
    bench.table(
        f"{size} formulas of 7 to 10 tokens, beam 25, py-aiger; one process decodes, one judges",
        [
            ["decoding, s", "judging, s", "both, s", "hidden of the smaller"],
            [*(f"{value:.2f}" for value in (decoding, judging, both)), f"{hidden:.0%}"],
        ],
    )


def benchmark_start(bench: Bench) -> None:
    """The part ``start``."""
    name = "prop, 5 symbols"
    cases = {}
    for kind, options in {
        "package": ("--user-dir", str(ROOT / "sit_fairseq"), "--task", "stream_translation"),
        "stock": ("--task", "translation", "--source-lang", "src", "--target-lang", "tgt"),
    }.items():
        path = str(bench.folder / f"{kind}.pt")
        bench.subject(kind, name).save(path)
        command = [sys.executable, "-u", "-m", "fairseq_cli.generate", bench.data(name), *options]
        command += ["--path", path, "--beam", "3", "--batch-size", "8", "--max-len-a", "0"]
        command += ["--max-len-b", "20", "--num-workers", "0"]
        command += ["--cpu"] if bench.args.device == "cpu" else []
        cases[kind] = lambda command=command: _first_answer(command)
    seconds = bench.found["start"] = bench.time(cases)
    middle = medians(seconds)
    bench.table(
        "fairseq-generate up to its first answer",
        [
            ["package, s", "stock, s", "package / stock"],
            [*(f"{middle[k]:.2f}" for k in cases), f"{middle['package'] / middle['stock']:.2f}"],
        ],
    )


def _first_answer(command: List[str]) -> None:
    # By itself fairseq cannot read its own checkpoints with a recent torch.
    env = {**os.environ, "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD": "1"}
    with tempfile.TemporaryFile() as log:
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=log, text=True, env=env
        ) as run:
            for line in run.stdout:
                if line.startswith("H-"):
                    run.kill()
                    return
        log.seek(0)
        sys.exit(log.read().decode())


PARTS = {
    "models": benchmark_models,
    "memory": benchmark_memory,
    "growth": benchmark_growth,
    "judging": benchmark_judging,
    "start": benchmark_start,
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
    plots.require_matplotlib()
    be_quiet()
    torch.set_num_threads(args.threads)
    args.result.mkdir(parents=True, exist_ok=True)
    found: Dict[str, Any] = {"machine": machine(args)}
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


if __name__ == "__main__":
    main()
