"""Judges against each other, and decoding with and without them."""

import os
import tempfile
from typing import List

import torch

from sit_fairseq.benchmark.bench import PACKAGE, Bench
from sit_fairseq.benchmark.measuring import medians
from sit_fairseq.datasets.pair_files import read_pairs
from sit_fairseq.evaluation.answering import Answered, Problem, answer_all
from sit_fairseq.evaluation.decoding import CheckpointDecoder
from sit_fairseq.judging.judge import make_judge
from sit_fairseq.judging.pool import JudgePool
from sit_fairseq.storage.journal import Journal


def measure_judging(bench: Bench) -> None:
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
    bench.run("sit_fairseq", "generate", "prop", text, *options, "--size", size)
    sources = [source for source, _ in read_pairs(str(text))]
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    checkpoint = str(PACKAGE.parent / "checkpoints/prop/model.pt")
    decoder = CheckpointDecoder(checkpoint, beam=25, max_len_b=30)

    def answer(judges=None) -> List[Answered]:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "journal")
            with Journal(path, "answers", {}, advice="", where="") as journal:
                return answer_all(decoder, list(map(Problem, sources)), journal, judges)

    pairs = [(s, answered.answers[0]) for s, answered in zip(sources, answer())]
    with JudgePool(make_judge("prop", "aiger"), workers=1) as judges:
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
