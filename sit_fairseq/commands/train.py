"""Trains a model of a domain on problems of yours, in a time that you name.

    sit train planning ferry/domain.pddl ferry/problems --out my/ferry --minutes 30
    sit answer planning ferry/domain.pddl p.pddl --path my/ferry

``sit train planning --help`` has the options of the domain.
"""

import argparse
import inspect
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import asdict
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any, Dict, Iterator, List, Optional, Sequence

from tqdm import tqdm

import sit_fairseq
from sit_fairseq.datasets.options import add_options, at_least, from_options
from sit_fairseq.domains import Domain, find, names
from sit_fairseq.errors import UserError
from sit_fairseq.judging.workers import end_with_parent
from sit_fairseq.storage.files import make_folder, replacing, sha256_of_file, try_lock

# The share of the time that labels may take, and of what is left that the updates are planned for.
_LABELS, _UPDATES = 0.25, 0.9

# Updates that tell how long one takes: the first of them and the last, and how many are timed together.
_TRIED, _TIMED = (8, 40), 4


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "domain", metavar="NAME", help="planning, or your own domain that has a teacher"
    ).completer = lambda **_: names()
    first = (*parser.words, "--help")[0]
    if first.startswith("-") and first not in ("-h", "--help"):
        raise UserError(
            "name the domain first, which has the options: sit train NAME FILE ... --out DIR"
        )
    teacher = None if first.startswith("-") else find(first, "").train
    add("given", nargs="+", metavar="FILE", help=teacher.metavar if teacher else "its files")
    add("--out", required=True, metavar="DIR", help="the folder to write, with the model")
    help_ = "minutes that all of it takes, labels too (default: %(default)s)"
    add("--minutes", type=at_least(0.5, float), default=30.0, metavar="M", help=help_)
    if teacher is not None:
        parser.description = inspect.cleandoc(teacher.__doc__ or "")
        add_options(parser, teacher)


def main(args: argparse.Namespace) -> None:
    domain = find(args.domain, "")
    if domain.train is None:
        raise UserError(f"the domain {args.domain} is trained by fairseq-train, see examples")
    if find_spec("fairseq") is None:  # before anything is paid for
        raise ModuleNotFoundError("there is no fairseq", name="fairseq")
    teacher = from_options(domain.train, args)
    if os.pathsep in args.out:
        raise UserError(f"fairseq takes {args.out} for several folders; name another", "out")
    make_folder(args.out)
    log = os.path.join(args.out, "train.log")
    with open(log, "a", encoding="utf-8") as file:
        if not try_lock(file, log):
            raise UserError(f"another process trains in {args.out}; name another folder", "out")
        _go_on(args, domain, teacher)


def _go_on(args: argparse.Namespace, domain: Domain, teacher: Any) -> None:
    """Begins a training, or goes on where it is."""
    from sit_fairseq.model import Model

    started, out = time.monotonic(), Path(args.out)
    options = list(teacher.training)
    asked = {"domain": domain.versioned, "given": list(map(os.path.abspath, args.given))}
    asked.update(asdict(teacher), minutes=args.minutes, training=options)
    files = map(os.path.abspath, teacher.files(args.given))
    asked["files"] = {path: sha256_of_file(path) for path in files}
    note, known = out / "training.json", {"asked": asked}
    if (out / "bin").exists() or (out / "model.pt").exists():
        known = _noted(note)
        if known is None:
            reason = "has a folder bin or a model of something else"
            raise UserError(f"{args.out} {reason}; name another folder", "out")
        if known.get("asked") != asked:
            reason = "has a training with other options or files"
            raise UserError(f"{args.out} {reason}; name another folder", "out")
    if (out / "model.pt").is_file():
        print(f"the model is in {args.out} already")
        return
    if not (out / "bin").is_dir():
        for line in teacher.teach(args.given, args.out, _LABELS * 60 * args.minutes):
            print(line, flush=True)
        with replacing(str(note)) as (file,):
            json.dump(known, file)
        _binarise(out)
    if "updates" not in known:
        took = _seconds_of_an_update(out, options, domain)
        left = 60 * args.minutes - (time.monotonic() - started)
        known["updates"] = max(50, int(_UPDATES * left / took))
        with replacing(str(note)) as (file,):
            json.dump(known, file)
    updates = known["updates"]
    lines = _training(out, options, domain, _schedule(updates))
    with tqdm(total=updates, unit=" updates", disable=None) as bar:
        for number in lines:
            bar.update(number - bar.n)
    best = out / "checkpoints" / "checkpoint_best.pt"
    best = best if best.is_file() else best.with_name("checkpoint_last.pt")
    Model.load(best).save(out / "model.pt")
    print(f"{updates} updates; the model is in {args.out}: --path {args.out}")


def _noted(note: Path) -> Optional[Dict[str, Any]]:
    """The content of ``training.json``: what was asked, and the updates; None if it is damaged or missing."""
    try:
        known = json.loads(note.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return known if isinstance(known, dict) else None


def _binarise(out: Path) -> None:
    """Makes fairseq's binary data, whole or not at all."""
    new = out / "bin.new"
    shutil.rmtree(new, ignore_errors=True)
    words = ["-s", "src", "-t", "tgt", "--joined-dictionary", "--destdir", str(new)]
    words += ["--trainpref", str(out / "train"), "--validpref", str(out / "valid")]
    for _ in _lines(out, "fairseq_cli.preprocess", words):
        pass
    new.rename(out / "bin")


def _schedule(updates: int) -> List[str]:
    """The options of a training of some updates, which goes on where it was."""
    every = str(max(20, updates // 10))
    words = ["--lr-scheduler", "cosine", "--warmup-updates", str(min(1000, updates // 5))]
    words += ["--max-update", str(updates), "--save-interval-updates", every]
    words += ["--validate-interval-updates", every, "--keep-interval-updates", "1"]
    return [*words, "--no-epoch-checkpoints", "--log-interval", str(min(20, updates // 5))]


def _seconds_of_an_update(out: Path, options: Sequence[str], domain: Domain) -> float:
    """How long an update takes, by a training that is thrown away."""
    first, last = _TRIED
    words = ["--lr-scheduler", "fixed", "--max-update", str(last), "--log-interval", str(_TIMED)]
    words += ["--no-save", "--disable-validation"]
    times = {n: time.monotonic() for n in _training(out, options, domain, words, "trial")}
    shutil.rmtree(out / "trial")
    timed = range(first, last, _TIMED)  # other work may slow a few of these
    return median(times[n + _TIMED] - times[n] for n in timed) / _TIMED


def _training(
    out: Path, own: Sequence[str], domain: Domain, words: List[str], folder: str = "checkpoints"
) -> Iterator[int]:
    """Runs fairseq-train, and yields the number of updates whenever it says so."""
    package = str(Path(sit_fairseq.__file__).parent)
    options = [str(out / "bin"), "--user-dir", package, "--task", "stream_translation"]
    options += ["-s", "src", "-t", "tgt", "--domain", domain.name]
    options += ["--symbols", *domain.symbols.split("\n"), *own]
    options += ["--save-dir", str(out / folder), "--log-format", "json", *words]
    for line in _lines(out, "fairseq_cli.train", options):
        found = re.search(r'"num_updates": "(\d+)"', line)
        if found and "train_inner" in line:
            yield int(found[1])


def _lines(out: Path, module: str, words: List[str]) -> Iterator[str]:
    """Runs a module of Python and yields what it prints, which ``train.log`` keeps.

    Raises:
        UserError: it fails.
    """
    command = [sys.executable, "-m", module, *words]
    with open(out / "train.log", "a", buffering=1, encoding="utf-8") as log:
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "LOGLEVEL": "INFO"},  # at which fairseq tells of updates
            preexec_fn=partial(end_with_parent, signal.SIGTERM),
        )
        last: Optional[str] = None
        try:
            for line in process.stdout:
                log.write(line)
                last = line.strip() or last
                yield line
            process.wait()
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait()
    if process.returncode:
        raise UserError(f"{module} failed: {last}; see {out / 'train.log'}")
