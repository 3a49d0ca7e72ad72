"""Runs fairseq's commands and our own inside the test process.

A new process would spend most of its time on importing fairseq; that the commands work
in one of their own is tested in test_processes.py.
"""

import contextlib
import copy
import importlib.util
import re
import sys
from functools import lru_cache
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import List
from unittest import mock

import fairseq_cli.generate
import fairseq_cli.hydra_train
import fairseq_cli.interactive
import fairseq_cli.preprocess
import fairseq_cli.train
import fairseq_cli.validate
from fairseq import checkpoint_utils
from hydra.core.config_store import ConfigStore
from hydra.core.override_parser.overrides_parser import OverridesParser

from sit_fairseq import commands

ROOT = Path(__file__).parent.parent
PLUG_IN = ["--user-dir", str(ROOT / "sit_fairseq"), "--task", "stream_translation"]
# Workers and a data buffer would only make short runs slower, above all at their end.
IN_PROCESS = ["--cpu", "--num-workers", "0", "--data-buffer-size", "0"]
# fairseq 0.12.2 loads what it would validate on even so; training data is always there.
UNVALIDATED = ["--disable-validation", "--valid-subset", "train"]
TRAINING = [
    *("--arch", "symbol_invariant_transformer_tiny", "--criterion", "adacos"),
    *("--optimizer", "adam", "--lr", "0.003", "--clip-norm", "1.0", "--batch-size", "64"),
    *(*IN_PROCESS, "--log-format", "simple"),
]


# fairseq gives hydra each option of a command as words, 300 of them, most of which are those of the
# command before; reading them takes a third of a short training.
_parse_rule = lru_cache(maxsize=None)(
    lambda words, rule, parse=OverridesParser.parse_rule: parse(
        OverridesParser.create(), words, rule
    )
)
OverridesParser.parse_rule = lambda self, words, rule: copy.copy(_parse_rule(words, rule))
# And it copies all options of all that fairseq knows, of which it only reads.
ConfigStore.__deepcopy__ = lambda self, memo: self


def run(command, *arguments) -> None:
    """Runs the ``cli_main`` of a fairseq command."""
    # fairseq keeps the best validation score on the function, across trainings.
    vars(checkpoint_utils.save_checkpoint).pop("best", None)
    with mock.patch.object(sys, "argv", ["fairseq", *map(str, arguments)]):
        # It takes away some of the log's handlers, which may be pytest's.
        with mock.patch.object(fairseq_cli.validate, "reset_logging"):
            command.cli_main()


def hydra_train(*arguments) -> None:
    """Runs fairseq-hydra-train; its log would go to what is standard output now, in later tests
    too."""
    words = ["fairseq-hydra-train", *map(str, arguments), "hydra.output_subdir=null"]
    with contextlib.ExitStack() as patches:
        patches.enter_context(mock.patch.object(sys, "argv", words))
        for module in ("hydra._internal.hydra", "hydra.core.utils"):
            patches.enter_context(mock.patch(f"{module}.configure_log"))
        fairseq_cli.hydra_train.cli_main()


def load_script(path: str) -> ModuleType:
    """Imports a script of this repository, which is in no package, by its path."""
    name = path.replace("/", "_").removesuffix(".py")
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, ROOT / path)
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


def sit(*arguments) -> None:
    """Runs a verb of our own command."""
    commands.run([str(argument) for argument in arguments])


def run_preprocess(*arguments) -> None:
    """Runs fairseq-preprocess."""
    run(fairseq_cli.preprocess, *arguments)
    # It would write to the log of every earlier folder too, there or not.
    for handler in list(fairseq_cli.preprocess.logger.handlers):
        fairseq_cli.preprocess.logger.removeHandler(handler)
        handler.close()


def preprocess(directory: Path, *arguments) -> Path:
    """Binarises files of the two languages ``src`` and ``tgt`` with a joined dictionary."""
    arguments = ("--joined-dictionary", *arguments) if "--srcdict" not in arguments else arguments
    run_preprocess("-s", "src", "-t", "tgt", "--destdir", directory, *arguments)
    return directory


def preprocess_lines(
    directory: Path, sources: List[str], targets: List[str], split="test", *arguments
) -> Path:
    """Writes and binarises one split; the dictionary is made of these lines alone."""
    directory.mkdir(parents=True, exist_ok=True)
    prefix = directory / "text"
    for side, lines in (("src", sources), ("tgt", targets)):
        prefix.with_suffix(f".{side}").write_text("".join(line + "\n" for line in lines))
    files = ("--trainpref", prefix, f"--{split}pref", prefix)
    return preprocess(directory / "bin", *files, *arguments)


def train(data: Path, save_dir: Path, *arguments, symbols="[a-z]") -> Path:
    """Trains a model and returns its last checkpoint."""
    symbols = ("--symbols", symbols) if symbols is not None else ()
    options = ("--save-dir", save_dir, *PLUG_IN, *TRAINING, *symbols, *arguments)
    run(fairseq_cli.train, data, *options)
    return save_dir / "checkpoint_last.pt"


def generate(data: Path, checkpoint, *arguments) -> None:
    """Decodes the test split to standard output."""
    run(fairseq_cli.generate, data, "--path", checkpoint, *PLUG_IN, *IN_PROCESS, *arguments)


def interactive(data: Path, checkpoint, lines: List[str], tmp_path: Path, *arguments) -> None:
    """Decodes typed lines to standard output."""
    (tmp_path / "typed").write_text("".join(line + "\n" for line in lines))
    options = ("--path", checkpoint, "--input", tmp_path / "typed", *PLUG_IN, *IN_PROCESS)
    run(fairseq_cli.interactive, data, *options, *arguments)


_PARTS = ("source", "target", "reason", "verified", "scores", "answers", "verdicts")


def printed(out: str) -> List[SimpleNamespace]:
    """What fairseq-generate or fairseq-interactive has printed of each sentence, by id.

    Each has its source, target, reason (of no answer) and verified (verdict and beam), None where
    they are not printed, and lists of scores, answers and verdicts, best first.
    """
    found = {}
    for kind, number, text in re.findall(r"^([STHVIE])-(\d+)\t(.*)$", out, re.M):
        sentence = found.setdefault(int(number), SimpleNamespace(**dict.fromkeys(_PARTS)))
        for part in ("scores", "answers", "verdicts"):
            setattr(sentence, part, getattr(sentence, part) or [])
        if kind == "H":
            score, answer = text.split("\t")
            sentence.scores.append(score)
            sentence.answers.append(answer)
        elif kind == "I":
            sentence.verdicts.append(text)
        elif kind == "V":
            verdict, beam = text.split("\t")
            sentence.verified = verdict, int(beam)
        else:
            setattr(sentence, {"S": "source", "T": "target", "E": "reason"}[kind], text)
    return [found[number] for number in sorted(found)]
