"""Speed and memory, against the algorithms as written and fairseq's transformer.

    sit benchmark outputs/benchmark
    sit benchmark outputs/judging --parts growth judging

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
import os
from pathlib import Path

from sit_fairseq.benchmark.run import PARTS, run


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the verb."""
    add = parser.add_argument
    add("result", type=Path, help="directory for the results")
    add("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    add("--repetitions", type=int, default=7)
    add("--threads", type=int, default=os.cpu_count())
    add("--device", choices=("cpu", "cuda"), default="cpu")
    add("--dtype", choices=("float32", "float16", "bfloat16"), default="float32")
    add("--batch-size", type=int, default=64, help="sentences in a batch")
    add("--batches", type=int, default=1, help="batches, from short to long")


def main(args: argparse.Namespace) -> None:
    """Measures, and writes the results.

    Raises:
        UserError: an option cannot be used.
    """
    run(args)
