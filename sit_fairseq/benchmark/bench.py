"""What the parts of the benchmark share: data, models, timing, and the report."""

import argparse
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Dict, List

import torch

import sit_fairseq
from sit_fairseq.benchmark.measuring import interleaved
from sit_fairseq.benchmark.subjects import Subject
from sit_fairseq.datasets.pair_files import read_pairs
from sit_fairseq.evaluation.result_file import markdown_table

MIB = 2**20

PACKAGE = Path(sit_fairseq.__file__).parent

# Data by name: the generator, its options, and whose sizes the models have.
DATA = {
    "prop, 5 symbols": ("prop", ["--symbols", "5"], "prop"),
    "prop, 10 symbols": ("prop", ["--symbols", "10"], "prop"),
    "ltl, 5 symbols": ("ltl", ["--symbols", "5"], "ltl"),
}
# Tokens of an answer, about as many as the longest ones have.
ANSWER = {"prop": 20, "ltl": 30}


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

    @property
    def dtype(self) -> torch.dtype:
        """Of the factors of their products."""
        return getattr(torch, self.args.dtype)

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
            self.run(
                *("sit_fairseq", "generate", generator, text, *options),
                *("--size", "1000", "--seed", "1"),
            )
            self.run(
                *("fairseq_cli.preprocess", "--source-lang", "src", "--target-lang", "tgt"),
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

    def run(self, module: str, *arguments: Any) -> None:
        """Runs a module as a command, in the folder that holds this copy of the package."""
        result = subprocess.run(
            [sys.executable, "-m", module, *map(str, arguments)],
            cwd=PACKAGE.parent,
            capture_output=True,
            text=True,
        )
        if result.returncode:
            sys.exit(result.stderr)
