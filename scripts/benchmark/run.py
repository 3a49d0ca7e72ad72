"""Speed and memory, against the algorithms as written and fairseq's transformer.

    python scripts/benchmark/run.py outputs/benchmark
    python scripts/benchmark/run.py outputs/benchmark --parts growth

compares three models in one process, interleaved, each with random weights and fairseq's own trainer
and generator: the *package*; the *literal* algorithms, a plain tensor program in which every symbol
of the dictionary is a stream (``literal_model.py``); and fairseq's *stock* transformer, with the size
of the paper's baselines. Writes ``benchmark.md`` and ``benchmark.json`` into the folder. Only ratios
of one run mean anything. Parts:

- ``models``: training, validation and generation on formulas of up to 35 tokens; operations
- ``memory``: the peak of training
- ``places``: each of ``--stream-places`` beside *stock*
- ``growth``: time and memory against the number of symbols in a sentence, with each of
  ``--stream-places``; also drawn, as ``growth.png``
"""

import argparse
import json
import os
import platform
import random
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(Path(__file__).parent), str(ROOT)]

import torch  # noqa: E402
from measuring import Cases, be_quiet, interleaved, operations, peak_memory  # noqa: E402
from subjects import KINDS, PLACES, Subject  # noqa: E402

from sit_fairseq.evaluation.plots import new_figure, save_png  # noqa: E402
from sit_fairseq.evaluation.result_file import markdown_table  # noqa: E402

MIB = 2**20
# Data by name: the options of the generator, whose sizes the models have, tokens of an answer,
# about as many as the longest ones have.
DATA = {
    "prop, 5 symbols": (["prop", "--symbols", "5"], "prop", 20),
    "prop, 10 symbols": (["prop", "--symbols", "10"], "prop", 20),
    "ltl, 5 symbols": (["ltl", "--symbols", "5"], "ltl", 30),
}
# The same for each of the places of streams.
PLACED = {
    "prop, 2 symbols": (["prop", "--symbols", "2"], "prop", 20),
    "prop, 5 symbols": DATA["prop, 5 symbols"],
    "prop, 10 symbols": DATA["prop, 10 symbols"],
    "prop, written": (["prop", *"--style people --symbols 16 --max-length 64".split()], "prop", 20),
}
# Numbers of symbols in one formula, whose streams are everywhere up to some number; its tokens at least.
GROWTH, LENGTH, MOST_EVERYWHERE = [1, 2, 5, 10, 30, 100, 300, 1000], 199, 100


class Bench:
    """Where data is, and what was found so far.

    Args:
        args: the command line.
        folder: for data.

    Attributes:
        found: by part, what goes into the JSON file.
        report: the lines of the report.
    """

    def __init__(self, args: argparse.Namespace, folder: Path) -> None:
        self.args, self._folder = args, folder
        self.found: Dict[str, Any] = {}
        self.report: List[str] = []

    def data(self, name: str) -> str:
        """The folder of a set of data, made when first asked for."""
        folder = self._folder / name.replace(", ", "-").replace(" ", "-")
        if not folder.is_dir():
            text = f"{folder}.text"
            first, *others = {**DATA, **PLACED}[name][0]
            words = ["sit_fairseq", "generate", first, text, *others]
            self._run(*words, "--size", "1000", "--seed", "1")
            words = ["fairseq_cli.preprocess", "--source-lang", "src", "--target-lang", "tgt"]
            self._run(*words, "--joined-dictionary", "--trainpref", text, "--destdir", str(folder))
        return str(folder)

    def _run(self, module: str, *words: str) -> None:
        command = [sys.executable, "-m", module, *words]
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)

    def options(self, kind: str, name: str) -> List[str]:
        """The arguments of a subject for a set of data."""
        return [
            kind,
            {**DATA, **PLACED}[name][1],
            self.data(name),
            self.args.device,
            self.args.dtype,
        ]

    def time(self, cases: Cases) -> Dict[str, float]:
        """The median seconds of several things, which take turns: a slow minute meets all."""
        return interleaved(cases, self.args.repetitions, torch.device(self.args.device))

    def table(self, title: str, rows: List[List[Any]]) -> None:
        """Adds a table to the report."""
        print(f"\n{title}\n\n{markdown_table(rows)}")
        self.report += [f"### {title}", "", markdown_table(rows), ""]


def compare_models(bench: Bench) -> None:
    """Training, validation and generation; operations and their rate."""
    size, found = bench.args.batch_size, bench.found.setdefault("models", {})
    for name, (_, _, answer) in DATA.items():
        subjects = {kind: Subject(*bench.options(kind, name)) for kind in KINDS}
        batches = {k: s.batches(size, bench.args.batches) for k, s in subjects.items()}
        # Many hypotheses of many streams: fewer sentences, and not by the literal program.
        few = {k: subjects[k].batches(max(1, size // 4), 1) for k in ("package", "stock")}
        jobs: Dict[str, Any] = {
            "training": ({k: subjects[k].train for k in KINDS}, batches),
            "validation": ({k: subjects[k].validate for k in KINDS}, batches),
        }
        for beam, samples in ((3, batches), (25, few)):
            searches = {k: subjects[k].generator(beam, answer) for k in samples}
            generate = {
                k: lambda b, k=k, s=s: subjects[k].generate(s, b) for k, s in searches.items()
            }
            jobs[f"beam {beam}"] = (generate, samples)
        seconds = found[name] = {
            job: bench.time({k: lambda c=c, b=samples[k]: c(b) for k, c in calls.items()})
            for job, (calls, samples) in jobs.items()
        }
        rows = [["", *(f"{kind}, sentences/s" for kind in KINDS)]]
        rows[0] += ["literal / package", "package / stock"]
        for job, (_, samples) in jobs.items():
            middle, answered = seconds[job], sum(len(b["id"]) for b in samples["stock"])
            rows.append(
                [job, *(f"{answered / middle[k]:.1f}" if k in middle else "" for k in KINDS)]
            )
            for above, below in (("literal", "package"), ("package", "stock")):
                rows[-1].append(f"{middle[above] / middle[below]:.2f}" if above in middle else "")
        bench.table(f"{name}: batches of {size}, answers of {answer} tokens", rows)
        _rates(bench, name, subjects, batches)


def _rates(bench: Bench, name: str, subjects: Dict, batches: Dict) -> None:
    """Operations of training against its time, beside what a matrix product achieves."""
    tokens = sum(sample["net_input"]["src_tokens"].numel() for sample in batches["package"])
    layer = subjects["package"].model.encoder.layers[0].fc1
    product = matrix_product(tokens, layer.in_features, layer.out_features, 50, bench.args)
    # In turn with training, for the same weather.
    cases: Cases = {k: lambda k=k: subjects[k].train(batches[k]) for k in KINDS}
    seconds = bench.time({"product": product, **cases})
    # A forward pass, and twice as many operations for the gradients.
    count = {k: 3 * operations(lambda k=k: subjects[k].forward(batches[k])) for k in KINDS}
    best = operations(product) / seconds["product"] / 1e9
    bench.found["models"][name].update(operations=count, product_gflops=best)
    rows = [["training", "GFLOP for each sentence", "GFLOP/s", "of the matrix product"]]
    for kind in KINDS:
        each = count[kind] / sum(len(sample["id"]) for sample in batches[kind]) / 1e9
        rate = count[kind] / seconds[kind] / 1e9
        rows.append([kind, f"{each:.3f}", f"{rate:.1f}", f"{rate / best:.0%}"])
    shape = f"{tokens} x {layer.in_features} x {layer.out_features}"
    rows.append([f"matrix product, {shape}", "", f"{best:.1f}", ""])
    bench.table(f"{name}: operations", rows)


def matrix_product(
    rows: int, width: int, hidden: int, times: int, args: argparse.Namespace
) -> Callable[[], object]:
    """Products of (rows, width) and (width, hidden) matrices: what the machine can do."""
    options = {"device": args.device, "dtype": getattr(torch, args.dtype)}
    left, right = torch.randn(rows, width, **options), torch.randn(width, hidden, **options)
    out = torch.empty(rows, hidden, **options)

    def case() -> None:
        for _ in range(times):
            torch.mm(left, right, out=out)

    return case


def training_case(options: List[str], size: int):
    """A case for :func:`peak_memory`: a training step, after one on two sentences."""
    subject = Subject(*options)
    subject.train(subject.batches(2, 1))
    batches = subject.batches(size, 1)
    return [lambda: subject.train(batches)], subject.device


def _mebibytes(size: Optional[int]) -> str:
    return "unknown" if size is None else f"{size / MIB:.0f}"


def compare_memory(bench: Bench) -> None:
    """The peak of training."""
    found = bench.found["memory"] = {}
    rows = [["peak of training, MiB", *KINDS, "package / literal"]]
    for name in DATA:
        sizes = found[name] = {
            kind: peak_memory(training_case, bench.options(kind, name), bench.args.batch_size)[0]
            for kind in KINDS
        }
        package, literal = sizes["package"], sizes["literal"]
        ratio = f"{package / literal:.2f}" if package and literal else "unknown"
        rows.append([name, *(_mebibytes(sizes[kind]) for kind in KINDS), ratio])
    bench.table("Memory beyond the model", rows)


def compare_places(bench: Bench) -> None:
    """Training and generation with each of the places of streams, and by *stock*: their times, and the
    operations of generation."""
    size, found = bench.args.batch_size, bench.found.setdefault("places", {})
    columns = ("training", "beam 3", "beam 3, operations")
    rows = [["", *(f"{column}, {place}" for column in columns for place in PLACES.values())]]
    for name, (_, _, answer) in PLACED.items():
        cases: Dict[str, Cases] = {"training": {}, "beam 3": {}}
        for kind in (*PLACES, "stock"):
            subject = Subject(*bench.options(kind, name))
            batches = subject.batches(size, bench.args.batches)
            search = subject.generator(3, answer)
            cases["training"][kind] = partial(subject.train, batches)
            cases["beam 3"][kind] = partial(subject.generate, search, batches)
        found[name] = {job: bench.time(of_job) for job, of_job in cases.items()}
        found[name][columns[-1]] = {k: operations(case) for k, case in cases["beam 3"].items()}
        ratios = (times[k] / times["stock"] for times in found[name].values() for k in PLACES)
        rows.append([name, *(f"{ratio:.2f}" for ratio in ratios)])
    bench.table(f"Places of streams / stock: batches of {size}", rows)


def _formula(symbols: int) -> List:
    """A formula of the least depth, in which all of so many symbols occur, with an answer of 20
    tokens."""
    names, rng = [f"p{number}" for number in range(symbols)], random.Random(1)
    leaves = [names[number % symbols] for number in range(max(LENGTH // 2 + 1, symbols))]
    rng.shuffle(leaves)

    def over(leaves: List[str]) -> str:
        if len(leaves) == 1:
            return leaves[0]
        operator, middle = rng.choice(["&", "|", "xor", "<->"]), len(leaves) // 2
        return f"{operator} {over(leaves[:middle])} {over(leaves[middle:])}"

    return [(over(leaves), " ".join(f"{names[number % symbols]} 1" for number in range(10)))]


def _counts(kind: str) -> List[int]:
    return [n for n in GROWTH if kind != "package" or n <= MOST_EVERYWHERE]


def growth_cases(options: List[str]):
    """Cases for :func:`peak_memory`: training steps on one formula."""
    subject = Subject(*options)
    subject.train([subject.sentences(_formula(1))])
    batches = [[subject.sentences(_formula(count))] for count in _counts(options[0])]
    return [partial(subject.train, batch) for batch in batches], subject.device


def measure_growth(bench: Bench) -> None:
    """Time and memory against the number of symbols in a sentence."""
    options = {kind: bench.options(kind, "prop, 5 symbols") for kind in PLACES}
    for of_kind in options.values():
        of_kind[1] = "tiny"
    found = bench.found["growth"] = {"encoder": {}, "training": {}, "beam 3": {}, "memory": {}}
    cases: Dict[str, Cases] = {job: {} for job in ("encoder", "training", "beam 3")}
    for kind in PLACES:
        subject = Subject(*options[kind])
        search = subject.generator(3, 20)
        for count in _counts(kind):
            batch = [subject.sentences(_formula(count))]
            cases["encoder"][f"{kind} {count}"] = partial(subject.encode, batch)
            cases["training"][f"{kind} {count}"] = partial(subject.train, batch)
            cases["beam 3"][f"{kind} {count}"] = partial(subject.generate, search, batch)
    for job, of_job in cases.items():
        seconds = bench.time(of_job)
        for kind in PLACES:
            found[job][kind] = {n: seconds[f"{kind} {n}"] for n in _counts(kind)}
    for kind in PLACES:
        found["memory"][kind] = dict(zip(_counts(kind), peak_memory(growth_cases, options[kind])))
    rows = [["symbols", *(f"{job}, {PLACES[kind]}" for job in found for kind in PLACES)]]
    for count in GROWTH:
        cells = [(job, of_kind.get(count, "")) for job in found for of_kind in found[job].values()]
        rows.append([count, *(_cell(job, value) for job, value in cells)])
    bench.table(
        f"One formula of at least {LENGTH} tokens, answers of 20 tokens: milliseconds, and MiB of "
        "training",
        rows,
    )
    _draw_growth(found, bench.args.result)


def _cell(job: str, value: Any) -> str:
    if value == "":
        return value
    return _mebibytes(value) if job == "memory" else f"{1000 * value:.0f}"


def _draw_growth(found: Dict[str, Dict], folder: Path) -> None:
    """Draws the times and the memory."""
    units = {"encoder": "s", "training": "s", "beam 3": "s", "memory": "GiB"}
    titles = {"training": "training step", "beam 3": "answer, beam 3", "memory": "training, memory"}
    figure = new_figure(7.0, 5.0)
    for place, (job, of_kind) in enumerate(found.items(), start=1):
        axes, unit = figure.add_subplot(2, 2, place), 2**30 if job == "memory" else 1
        for (kind, values), style in zip(of_kind.items(), ("o--", "s-", "^-")):
            known = {n: value / unit for n, value in values.items() if value}
            axes.plot(list(known), list(known.values()), style, label=PLACES[kind])
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_title(titles.get(job, job), fontsize="medium")
        axes.set_ylabel(units[job])
        axes.grid(alpha=0.3)
        axes.legend(title="--stream-places" if place == 1 else None)
        if place > 2:
            axes.set_xlabel("different symbols")
    save_png(figure, str(folder / "growth.png"))


PARTS = {
    "models": compare_models,
    "memory": compare_memory,
    "places": compare_places,
    "growth": measure_growth,
}


def _machine(args: argparse.Namespace) -> Dict[str, Any]:
    """The machine and the versions that were measured on."""
    name = platform.processor()
    if os.path.exists("/proc/cpuinfo"):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        name = next((line.split(": ")[1] for line in lines if line.startswith("model name")), name)
    found = {"machine": torch.cuda.get_device_name() if args.device == "cuda" else name}
    found.update(cores=os.cpu_count(), threads=torch.get_num_threads(), dtype=args.dtype)
    return {**found, "load before": os.getloadavg()[0], "torch": torch.__version__}


def main() -> None:
    """Measures, and writes the results."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("result", type=Path, help="folder for the results")
    add("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    add("--repetitions", type=int, default=7)
    add("--threads", type=int, default=os.cpu_count())
    add("--device", choices=("cpu", "cuda"), default="cpu")
    add("--dtype", choices=("float32", "float16", "bfloat16"), default="float32")
    add("--batch-size", type=int, default=64, help="sentences in a batch")
    add("--batches", type=int, default=1, help="batches, from short to long")
    args = parser.parse_args()
    be_quiet()
    torch.set_num_threads(args.threads)
    args.result.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(args, Path(folder))
        bench.found["machine"] = _machine(args)
        for part in args.parts:
            PARTS[part](bench)
    head = "; ".join(f"{key}: {value}" for key, value in bench.found["machine"].items())
    (args.result / "benchmark.md").write_text("\n".join([head, "", *bench.report]))
    (args.result / "benchmark.json").write_text(json.dumps(bench.found, indent=1))


if __name__ == "__main__":
    main()
