"""Carries out the runs of a table of experiments, each only once.

Runs are processes of their own: fairseq keeps state between trainings in one process, so that
hydra's own multirun would carry the best score of a run over to the next.
"""

import hashlib
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Dict, List, Tuple

from omegaconf import OmegaConf

import sit_fairseq
from sit_fairseq.errors import UserError
from sit_fairseq.evaluation.experiments.processes import Processes
from sit_fairseq.evaluation.experiments.specification import (
    TRAINING,
    Measurement,
    Run,
    Specification,
    read_yaml,
)
from sit_fairseq.evaluation.experiments.table import Results, check_columns, experiments_table
from sit_fairseq.evaluation.experiments.training_log import read_parameters, read_validation
from sit_fairseq.evaluation.result_file import file_beside, markdown_table, sha256_of_file
from sit_fairseq.storage.files import replacing
from sit_fairseq.storage.journal import Journal

_PACKAGE = Path(sit_fairseq.__file__).parent


def fingerprint(data: Path) -> str:
    """A hash of what fairseq-preprocess has written, but for its log."""
    digest = hashlib.sha256()
    for path in sorted(data.iterdir()):
        if path.suffix in (".bin", ".idx") or path.match("dict.*.txt"):
            digest.update(f"{path.name} {sha256_of_file(str(path))}\n".encode())
    return digest.hexdigest()


class Runner:
    """Carries out runs.

    Args:
        specification: what to run and to measure.
        configuration: the hydra configuration to train with, a YAML file.
        folder: has the data.
        threads: of each process.

    Raises:
        UserError: the configuration cannot be used, or data are missing.
    """

    def __init__(
        self, specification: Specification, configuration: Path, folder: Path, threads: int
    ) -> None:
        self._specification = specification
        self._configuration = read_yaml(str(configuration), "change --scale")
        for run in specification.runs:
            if not run.data.is_dir():
                raise UserError(
                    f"{run.data} is missing; prepare the data of {run.condition!r} first."
                )
        self._fingerprints = {
            data: fingerprint(data) for data in {run.data for run in specification.runs}
        }
        environment = {
            **os.environ,
            "OMP_NUM_THREADS": str(threads),
            "OMP_WAIT_POLICY": "PASSIVE",
            "PYTHONWARNINGS": "ignore",
            # Processes run in the folder of the data, hydra in one of its own.
            "PYTHONPATH": os.pathsep.join([str(_PACKAGE.parent), os.environ.get("PYTHONPATH", "")]),
        }
        self._folder = folder
        self._processes = Processes(folder, environment)

    def open_journal(self, run: Run) -> Journal:
        """Opens the journal of a run, which has an entry for its training and each measurement.

        Raises:
            UserError: it is of other settings or data, whose results are not this run's.
        """
        path = run.folder / "journal.jsonl"
        if (run.folder / "settings.json").exists() and not path.exists():
            raise UserError(
                f"{run.folder} is of version 0.1, which did not note the data of a run; name "
                "another DIR, or remove it."
            )
        journal = Journal(
            str(path),
            "steps",
            {
                "condition": run.condition,
                "model": run.model,
                # Not its text: another comment does not make it another run.
                "configuration": self._configuration,
                "overrides": run.overrides,
                "data": os.path.relpath(run.data, self._folder),
                "content_of_the_data": self._fingerprints[run.data],
            },
            advice=f"name another DIR, or remove {run.folder}",
            where="DIR",
        )
        for number, entry in enumerate(journal.entries, start=2):
            parts = {"step": str, "result": dict}
            if entry.get("step") != TRAINING:
                parts = {"step": str, "command": list}
                if entry.keys() > parts.keys():  # done, not only begun
                    parts.update(result=dict, files=dict)
            if not all(isinstance(entry.get(part), kind) for part, kind in parts.items()):
                journal.close()
                raise journal.damaged(number)
        return journal

    def __call__(self, run: Run) -> Results:
        """Carries out a run, or what of it is not done.

        Returns:
            The results of all measurements that are meant for the model, by name; None, and a
            message, if a command failed.

        Raises:
            UserError: the journal cannot be used, or a column asks for what is not there.
        """
        try:
            with self.open_journal(run) as journal:
                training = self._train(run, journal)
                results = {
                    measurement.name: (
                        training
                        if measurement.name == TRAINING
                        else self._measure(run, measurement, journal)
                    )
                    for measurement in self._specification.measurements
                    if run.model in measurement.models and run.condition in measurement.conditions
                }
        except subprocess.CalledProcessError as error:
            print(f"{run.name} FAILED, see {error.output}", file=sys.stderr, flush=True)
            return None
        check_columns(self._specification, results)
        print(f"{run.name} done", file=sys.stderr, flush=True)
        return results

    def stop(self) -> None:
        """Ends what is running; interrupted trainings resume later."""
        self._processes.stop()

    def _train(self, run: Run, journal: Journal) -> Dict[str, Any]:
        """Trains a model, unless that is done, and returns what was seen of it."""
        for entry in journal.entries:
            if entry["step"] == TRAINING:
                return entry["result"]
        log = run.folder / "train.log"
        configuration = OmegaConf.create(self._configuration)
        configuration.merge_with_dotlist(run.overrides)
        # Not on the command line, whose grammar many names of folders break.
        configuration.merge_with(
            {
                "common": {
                    "user_dir": str(_PACKAGE),
                    "log_format": "json",
                    "tensorboard_logdir": str(run.folder / "tensorboard"),
                },
                "task": {"data": str(run.data)},
                "checkpoint": {"save_dir": str(run.folder / "model")},
                "hydra": {"run": {"dir": str(run.folder / "hydra")}},
            }
        )
        with replacing(run.folder / "train.yaml") as (file,):
            file.write(OmegaConf.to_yaml(configuration))
        seconds = self._processes.call(
            log,
            Path(sys.executable).with_name("fairseq-hydra-train"),
            *("--config-dir", run.folder.absolute(), "--config-name", "train"),
        )
        result = {
            "cpu_minutes": seconds / 60,
            "parameters": read_parameters(log),
            "validation": read_validation(log),
        }
        journal.append({"step": TRAINING, "result": result})
        return result

    def _measure(self, run: Run, measurement: Measurement, journal: Journal) -> Dict[str, Any]:
        """Measures a model, unless that is done with the same command and files."""
        begun = False
        for entry in journal.entries:
            if entry["step"] == measurement.name:
                same = entry["command"] == measurement.command
                begun = same and "result" not in entry
                if same and not begun and self._as_they_were(entry["files"]):
                    return entry["result"]
        path = run.folder / f"{measurement.name}.json"
        if not begun:  # the answers of what was measured before
            Path(file_beside(str(path), ".answers.jsonl")).unlink(missing_ok=True)
        journal.append({"step": measurement.name, "command": measurement.command})
        self._processes.call(
            run.folder / f"{measurement.name}.log",
            *(sys.executable, "-m", "sit_fairseq", "evaluate", *measurement.command),
            *("--path", run.folder / "model" / "checkpoint_last.pt"),
            *("--data", run.data, "--result", path),
        )
        found = json.loads(path.read_text(encoding="utf-8"))
        journal.append(
            {
                "step": measurement.name,
                "command": measurement.command,
                "files": found["files"],
                "result": found["result"],
            }
        )
        return found["result"]

    def _as_they_were(self, files: Dict[str, str]) -> bool:
        """Whether files have the hashes they had; what has been removed has not changed."""
        paths = {self._folder / name: digest for name, digest in files.items()}
        return all(
            sha256_of_file(str(path)) == digest for path, digest in paths.items() if path.exists()
        )


def run_experiments(
    specification: Specification, configuration: Path, folder: Path, name: str, jobs: int
) -> Tuple[str, int]:
    """Carries out all runs and writes the table, and all results, into the folder, after each.

    Args:
        specification: what to run.
        configuration: the hydra configuration, a YAML file.
        folder: has the data, and gets ``NAME.md`` and ``NAME.json``.
        name: see there.
        jobs: runs at a time.

    Returns:
        The table in Markdown, and how many runs failed and are left out there.

    Raises:
        UserError: something cannot be used, or the runs were interrupted.
    """
    if jobs < 1:
        raise UserError(f"--jobs {jobs}: at least 1.")
    runner = Runner(specification, configuration, folder, max(1, (os.cpu_count() or 1) // jobs))
    for run in specification.runs:  # before anything is paid for
        runner.open_journal(run).close()
    results: List[Results] = []
    text = ""
    with ThreadPoolExecutor(jobs) as executor:
        try:
            for result in executor.map(runner, specification.runs):
                results.append(result)
                text = markdown_table(experiments_table(specification, results))
                _write(specification, results, text, folder / name)
        except BaseException as error:
            executor.shutdown(wait=False, cancel_futures=True)
            runner.stop()
            if isinstance(error, KeyboardInterrupt):
                raise UserError("Interrupted; the same command goes on from there.")
            raise
    return text, results.count(None)


def _write(specification: Specification, results: List[Results], text: str, path: Path) -> None:
    """Writes the table, and the results of the runs so far."""
    everything = [
        {"condition": run.condition, "model": run.model, "seed": run.seed, "results": result}
        for run, result in zip(specification.runs, results)
    ]
    try:
        with replacing(f"{path}.md", f"{path}.json") as (markdown, raw):
            markdown.write(text + "\n")
            json.dump(everything, raw, indent=1)
    except OSError as error:
        raise UserError(f"Cannot write {path}.md: {error.strerror}; the same command goes on.")
