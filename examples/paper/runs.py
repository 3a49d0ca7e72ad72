"""Trains and measures the models of a table, each only once.

Every training is a process of its own. fairseq keeps state between trainings in one process, so
that hydra's multirun would carry the best score of one run over to the next.
"""

import contextlib
import hashlib
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Callable, Dict, List, Sequence, Tuple

from omegaconf import OmegaConf

import sit_fairseq
from examples.paper.tables import (
    TRAINING,
    Results,
    Run,
    Table,
    cells,
    make_runs,
    read_yaml,
    settings,
    slug,
    words,
)
from sit_fairseq.errors import UserError
from sit_fairseq.evaluation.depends import versions
from sit_fairseq.evaluation.result_file import markdown_table, read_result
from sit_fairseq.judging.own import OWN_MODULES
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.judging.workers import python
from sit_fairseq.storage.files import replacing, sha256_of_file
from sit_fairseq.storage.journal import Journal

# The clone, which has the judges and modules that tables name.
ROOT = Path(__file__).resolve().parent.parent.parent

PACKAGE = Path(sit_fairseq.__file__).parent
_PARAMETERS = re.compile(r"num\. shared model params: ([0-9,]+) ")
_METRICS = ("correct", "exact", *(verdict.value for verdict in Verdict))

# Becomes the command after it, and ends when the thread that started it does.
_BECOME = (
    "import os, signal, sys; from sit_fairseq.judging.workers import end_with_parent; "
    "end_with_parent(signal.SIGTERM); os.execvp(sys.argv[1], sys.argv[1:])"
)

# What measures.
_EVALUATE = "from sit_fairseq.commands import main; main()"
_MODULE = "import runpy; runpy.run_module(sys.argv.pop(1), run_name='__main__', alter_sys=True)"


def import_path(*first: str) -> str:
    """``PYTHONPATH`` for commands that run elsewhere, with other folders before those that it has."""
    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return os.pathsep.join([*first, *(os.path.abspath(entry) for entry in given if entry)])


class Runner:
    """Carries out runs, from any number of threads; ``folder`` has the data, ``user_dir`` models."""

    def __init__(self, table: Table, folder: Path, jobs: int = 1, user_dir: Path = PACKAGE) -> None:
        self._table, self._folder, self._user_dir = table, folder, str(user_dir)
        self._configuration = OmegaConf.merge({}, *map(read_yaml, table.hydra))
        self.runs = make_runs(table, folder)
        for run in self.runs:  # before anything is paid for
            settings(run, self._configuration)
            if not run.data.is_dir():
                raise UserError(f"{run.data} is missing; prepare the data of {run.condition!r}")
        self._contents = {data: _fingerprint(data) for data in {run.data for run in self.runs}}
        self._environment = {
            # Threads that wait actively for long are ruinous where cores are shared.
            "GOMP_SPINCOUNT": "3000",
            "OMP_NUM_THREADS": str(max(1, (os.cpu_count() or 1) // min(jobs, len(self.runs)))),
            **os.environ,
            "PYTHONWARNINGS": "ignore",
            # Commands run in the folder of the data, from which nothing is to be imported: a relative
            # or empty path would be one of that folder.
            "PYTHONPATH": import_path(),
            "PYTHONSAFEPATH": "1",  # of what fairseq starts, from Python 3.11 on
            OWN_MODULES: str(ROOT),
        }
        self._running: List[subprocess.Popen] = []
        self._stopped = False

    def journal(self, run: Run) -> Journal:
        """The journal of a run, which says that its training has begun, then what came of it; refused
        for other settings."""
        depends = {
            "condition": run.condition,
            "model": run.model,
            "configuration": OmegaConf.to_container(self._configuration),
            "overrides": run.overrides,
            "data": os.path.relpath(run.data, self._folder),
            "content_of_the_data": self._contents[run.data],
            "version_of_the_package": sit_fairseq.__version__,
        }
        advice = f"name another folder by --out, or remove {run.folder}"
        path = str(run.folder / "journal.jsonl")
        return Journal(path, "trainings", depends, advice=advice, where="--out")

    def __call__(self, run: Run) -> Results:
        """Does what of a run is not done; None, and a message, if a command failed."""
        results: Dict[str, Dict[str, Any]] = {}
        try:
            with self.journal(run) as journal:
                if run.checkpoint is None:
                    results[TRAINING] = self._train(run, journal)
                for name, measurement in self._table.measurements.items():
                    if name != TRAINING and measurement.of(run):
                        data = os.path.relpath(run.data, self._folder)
                        command = words(measurement.command.replace("{data}", data))
                        first = [measurement.module] if measurement.module else ["evaluate"]
                        results[name] = self._measure(run, slug(name), [*first, *command])
        except subprocess.CalledProcessError as error:
            return None if self._stopped else _say(f"{run.name} FAILED, see {error.output}")
        _say(f"{run.name} done")
        return results

    def stop(self) -> None:
        """Ends the commands that are running, and starts no others; trainings resume later."""
        self._stopped = True
        for process in list(self._running):
            process.terminate()

    def _call(self, log: Path, command: Sequence[str], see: Callable[[str], None]) -> float:
        """CPU seconds of a command and of its attempts before. Its lines are seen and logged; it ends
        with this process."""
        options = dict(cwd=self._folder, env=self._environment, text=True, errors="replace")
        output = dict(stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        with open(log, "a", encoding="utf-8") as file:
            process = subprocess.Popen(python(_BECOME, *command), **options, **output)
            self._running.append(process)
            if self._stopped:  # since, or before
                process.kill()
            for line in process.stdout:
                print(line, end="", file=file, flush=True)
                see(line)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        spent = log.with_suffix(".seconds")
        with open(spent, "a", encoding="utf-8") as file:
            print(usage.ru_utime + usage.ru_stime, file=file)
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, command, str(log))
        return sum(map(float, spent.read_text(encoding="utf-8").split()))

    def _train(self, run: Run, journal: Journal) -> Dict[str, Any]:
        """Trains a model, unless that is done, and returns what was seen of it."""
        if len(journal.entries) > 1:
            return journal.entries[1]
        places = {
            "common": {
                "user_dir": self._user_dir,
                "log_format": "json",
                "log_file": None,
                "tensorboard_logdir": str(run.folder / "tensorboard"),
            },
            "task": {"data": str(run.data)},
            "checkpoint": {"save_dir": str(run.folder / "model")},
            "hydra": {"run": {"dir": str(run.folder / "hydra")}},
        }
        # A file, as hydra's grammar of command lines takes few names of folders.
        with replacing(str(run.folder / "train.yaml")) as (file,):
            file.write(
                OmegaConf.to_yaml(OmegaConf.merge(settings(run, self._configuration), places))
            )
        command = [str(Path(sys.executable).with_name("fairseq-hydra-train")), "--config-dir"]
        command += [str(run.folder.absolute()), "--config-name", "train"]
        log = run.folder / "train.log"
        _say(f"{run.name}: training, see {log}")

        def show(line: str) -> None:
            for updates, found in read_validation([line]).items():
                if updates != "last" and "correct" in found:
                    _say(f"{run.name}: {updates} updates, {found['correct']:.1%} correct")

        if not journal.entries:
            journal.append({"begun": True})
        seconds = self._call(log, command, show)
        lines = log.read_text(encoding="utf-8").splitlines()
        weights = [match[1].replace(",", "") for match in map(_PARAMETERS.search, lines) if match]
        result = {
            "cpu_minutes": seconds / 60,
            "parameters": int(weights[-1]) if weights else None,
            "validation": read_validation(lines),
        }
        journal.append(result)
        return result

    def _measure(self, run: Run, name: str, command: List[str]) -> Dict[str, Any]:
        """Measures a model, unless that is done by the same command with the same files, judges
        and versions, and each verdict is decided."""
        path, begun = run.folder / f"{name}.json", run.folder / f"{name}.command"
        checkpoint = run.checkpoint or run.folder / "model" / "checkpoint_last.pt"
        command = [*command, "--path", str(checkpoint), "--result", str(path)]
        key = json.dumps([command, versions()])
        same = not begun.exists() or begun.read_bytes() == key.encode()
        if path.exists():
            found = read_result(str(path))
            files = {self._folder / file: digest for file, digest in found["files"].items()}
            # What has been removed has not changed.
            same &= checkpoint in files
            same &= all(sha256_of_file(str(f)) == d for f, d in files.items() if f.is_file())
            same &= found["versions"] == versions(found["versions"])
            if same and not found["undecided"]:
                return found["result"]
            path.unlink()  # its answers, if they are still of use, are judged again
        if not same:
            for old in run.folder.glob(f"{name}.*answers.jsonl"):
                old.unlink()
        with replacing(str(begun)) as (file,):
            file.write(key)
        program = _EVALUATE if command[0] == "evaluate" else _MODULE
        self._call(run.folder / f"{name}.log", python(program, *command), lambda line: None)
        return read_result(str(path))["result"]


def _say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


def _fingerprint(data: Path) -> str:
    """A hash of what fairseq-preprocess has written into a folder, but for its log."""
    digest = hashlib.sha256()
    for path in sorted(data.iterdir()):
        if path.suffix in (".bin", ".idx") or path.match("dict*.txt"):
            digest.update(f"{path.name} {sha256_of_file(str(path))}\n".encode())
    return digest.hexdigest()


def read_validation(log: Sequence[str]) -> Dict[str, Dict[str, float]]:
    """Shares that fairseq-train printed of the validation data, in lines of its log.

    They are keyed by the number of updates, the last ones by ``last`` as well, and then by name.
    """
    found: Dict[str, Dict[str, float]] = {}
    for line in log:
        _, mark, data = line.partition("[valid][INFO] - {")
        with contextlib.suppress(ValueError, KeyError):  # an interruption may cut a line off
            values = json.loads("{" + data) if mark else {}
            found[values["valid_num_updates"]] = found["last"] = {
                name: float(values[f"valid_{name}"]) / 100
                for name in _METRICS
                if f"valid_{name}" in values
            }
    return found


def run_table(
    table: Table, folder: Path, name: str, jobs: int, user_dir: Path = PACKAGE
) -> Tuple[str, int]:
    """Carries out all runs, so many jobs at a time, and writes ``FOLDER/NAME.md`` after each.

    Returns:
        The table in Markdown, and how many runs failed and are left out there.

    Raises:
        UserError: something cannot be used, or the runs were interrupted.
    """
    runner, results, text = Runner(table, folder, jobs, user_dir), [], ""
    for run in runner.runs:  # before anything is paid for
        runner.journal(run).close()
    with ThreadPoolExecutor(jobs) as executor:
        try:
            for result in executor.map(runner, runner.runs):
                results.append(result)
                text = markdown_table(cells(table, runner.runs, results))
                with replacing(f"{folder / name}.md") as (file,):
                    file.write(text + "\n")
        except BaseException as error:
            executor.shutdown(wait=False, cancel_futures=True)
            runner.stop()
            if isinstance(error, KeyboardInterrupt):
                raise UserError("Interrupted; the same command goes on from there")
            raise
    return text, results.count(None)
