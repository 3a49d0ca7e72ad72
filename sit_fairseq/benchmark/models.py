"""The three models against each other: speed, operations, memory of training."""

from typing import Callable, Dict, List

from sit_fairseq.benchmark.bench import ANSWER, DATA, MIB, Bench
from sit_fairseq.benchmark.measuring import matrix_product, medians, operations, peak_memory
from sit_fairseq.benchmark.subjects import KINDS, Subject, training_case

# Who is asked for 25 hypotheses.
BEAM_25 = ("package", "stock")


def compare_models(bench: Bench) -> None:
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
        tokens, layer.in_features, layer.out_features, 50, bench.device, bench.dtype
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


def compare_memory(bench: Bench) -> None:
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
