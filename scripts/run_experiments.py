"""Trains and measures the models of a table, and prints the table.

    python scripts/run_experiments.py examples/prop/ablation.yaml outputs/prop-mini --scale mini

trains every model of the file under every condition with every seed, from the hydra
configuration ``hydra/mini.yaml`` beside the file, measures each by ``scripts/evaluate.py``,
and writes ``NAME.md`` and ``NAME.json`` into the folder, which must hold the data. Runs
are processes of their own, ``--jobs`` at a time: fairseq keeps state between trainings in
one process, so that hydra's own multirun would carry the best score of a run over to the
next. What is finished is not done again; an interrupted training resumes; a folder whose
runs were started with other settings is refused.

A file says what to do like this::

    overrides: [optimization.max_update=2500]     # of all runs
    seeds: [1, 2, 3]
    heading: [Training data, Model]
    conditions: {Normal: bin, Reduced: bin.reduced}    # binarised data in the folder
    models:
      Baseline: [model.symbol_embedding=fixed]    # overrides of hydra/<scale>.yaml
    measurements:
      test:
        command: [correct, data/test, --semantics, prop]    # of scripts/evaluate.py
        columns: {Correct: correct.share}                   # what to show of its result

A condition may also be ``{data: bin.wide, models: [Baseline], seeds: [1]}``, and a measurement may have
``models``, for those it is meant for. The measurement ``training`` needs no command: it has
``validation.UPDATES.METRIC``, what fairseq-train printed of the validation data then (UPDATES may
be ``last``), as a share, and ``cpu_minutes``. A column that is no share is written ``{number: PATH}``.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence

from omegaconf import OmegaConf

from sit_fairseq.errors import UserError
from sit_fairseq.evaluation.result_file import markdown_table
from sit_fairseq.files import replacing
from sit_fairseq.judging.verdict import Verdict

ROOT = Path(__file__).resolve().parent.parent


@dataclass
class Run:
    """One training with its measurements.

    Attributes:
        condition: name of the training data.
        model: name of the model.
        seed: of the training.
        data: the binarised training data.
        overrides: of the hydra configuration.
        folder: where results go.
    """

    condition: str
    model: str
    seed: int
    data: Path
    overrides: List[str]
    folder: Path

    @property
    def name(self) -> str:
        """For messages."""
        return f"{self.condition} / {self.model} / seed {self.seed}"


def read_specification(path: str) -> Dict[str, Any]:
    """Reads and checks a file of experiments.

    Raises:
        UserError: it cannot be read, or a part is missing.
    """
    try:
        specification = OmegaConf.to_container(OmegaConf.load(path))
    except OSError as error:
        raise UserError(f"Cannot read {path}: {error.strerror}; name a file of experiments.")
    except Exception as error:  # of the YAML parser and of omegaconf
        raise UserError(f"{path} is not YAML: {str(error).splitlines()[0]}")
    parts = ("conditions", "models", "measurements")
    for part in parts:
        if not isinstance(specification, dict) or not isinstance(specification.get(part), dict):
            raise UserError(f"{path} has no mapping {part!r}; it needs {', '.join(parts)}.")
    return specification


def runs_of(specification: Dict[str, Any], folder: Path) -> List[Run]:
    """Lists all runs in the order of the table.

    Raises:
        UserError: a condition asks for a model that is not described.
    """
    runs = []
    for condition, value in specification["conditions"].items():
        value = {"data": value} if isinstance(value, str) else value
        for model in value.get("models", specification["models"]):
            if not isinstance(specification["models"].get(model), list):
                raise UserError(
                    f"{condition!r} asks for the model {model!r}, but under 'models' there is no "
                    "list of overrides of that name."
                )
            for seed in value.get("seeds", specification.get("seeds", [1])):
                overrides = [
                    *specification.get("overrides", []),
                    *specification["models"][model],
                    f"common.seed={seed}",
                ]
                own = folder / "runs" / slug(condition) / slug(model) / f"seed{seed}"
                data = folder / value["data"]
                runs.append(Run(condition, model, seed, data, overrides, own))
    return runs


def slug(name: str) -> str:
    """A name that is good for a folder."""
    return "".join(c if c.isalnum() or c in "-_." else "_" for c in name)


class Runner:
    """Carries out runs.

    Args:
        config_dir: where the hydra configurations are.
        scale: name of the one to use.
        folder: where the data are.
        measurements: as in the file.
        threads: of each process.
    """

    def __init__(
        self,
        config_dir: Path,
        scale: str,
        folder: Path,
        measurements: Dict[str, Dict[str, Any]],
        threads: int,
    ) -> None:
        self.config_dir = config_dir
        self.scale = scale
        self.folder = folder
        self.measurements = measurements
        self.environment = {
            **os.environ,
            "OMP_NUM_THREADS": str(threads),
            "OMP_WAIT_POLICY": "PASSIVE",
            "PYTHONWARNINGS": "ignore",
            # Processes run in the folder of the data, hydra in one of its own.
            "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
        }

    def check(self, run: Run) -> None:
        """Notes the settings of a run in its folder.

        Raises:
            UserError: it has those of another run, whose results are not this one's.
        """
        path = run.folder / "settings.json"
        configuration = (self.config_dir / f"{self.scale}.yaml").read_text(encoding="utf-8")
        settings = {"configuration": configuration, "overrides": run.overrides}
        for name, measurement in self.measurements.items():
            settings[f"measurement {name}"] = measurement.get("command")
        theirs = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        for name, value in settings.items():
            if theirs.get(name, value) != value:
                raise UserError(
                    f"{run.folder} has results of another {name}; name another DIR, or remove it."
                )
        run.folder.mkdir(parents=True, exist_ok=True)
        with replacing(str(path)) as (file,):
            json.dump({**theirs, **settings}, file, indent=1)

    def train(self, run: Run) -> None:
        """Trains a model, unless that is done."""
        finished = run.folder / "model" / "finished"
        if finished.exists():
            return
        log = run.folder / "train.log"
        seconds = self._call(
            log,
            Path(sys.executable).with_name("fairseq-hydra-train"),
            *("--config-dir", self.config_dir, "--config-name", self.scale),
            f"common.user_dir={ROOT / 'sit_fairseq'}",
            "common.log_format=json",
            f"common.tensorboard_logdir={run.folder / 'tensorboard'}",
            f"task.data={run.data}",
            f"checkpoint.save_dir={run.folder / 'model'}",
            f"hydra.run.dir={run.folder / 'hydra'}",
            # With ++, as options that the configuration leaves out may be named too.
            *(f"++{override}" for override in run.overrides),
        )
        with replacing(str(run.folder / "training.json")) as (file,):
            json.dump(
                {"result": {"cpu_minutes": seconds / 60, "validation": read_validation(log)}},
                file,
                indent=1,
            )
        finished.touch()

    def measure(self, run: Run) -> Dict[str, Dict[str, Any]]:
        """The results of all measurements that are meant for the model, by name."""
        results = {}
        for name, measurement in self.measurements.items():
            if run.model not in measurement.get("models", [run.model]):
                continue
            path = run.folder / f"{name}.json"
            if not path.exists():
                self._call(
                    run.folder / f"{name}.log",
                    *(sys.executable, ROOT / "scripts" / "evaluate.py", *measurement["command"]),
                    *("--path", run.folder / "model" / "checkpoint_last.pt"),
                    *("--data", run.data, "--result", path),
                )
            results[name] = json.loads(path.read_text(encoding="utf-8"))["result"]
        return results

    def __call__(self, run: Run) -> Optional[Dict[str, Dict[str, Any]]]:
        """Carries out a run; None, and a message, if a command of it failed."""
        try:
            self.train(run)
            results = self.measure(run)
        except subprocess.CalledProcessError as error:
            print(f"{run.name} FAILED, see {error.output}", file=sys.stderr, flush=True)
            return None
        print(f"{run.name} done", file=sys.stderr, flush=True)
        return results

    def _call(self, log: Path, *command: Any) -> float:
        """Runs a command and returns the CPU seconds that it and its own processes took."""
        with open(log, "a", encoding="utf-8") as output:
            process = subprocess.Popen(
                [str(part) for part in command],
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                env=self.environment,
            )
            _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, str(command[0]), str(log))
        return usage.ru_utime + usage.ru_stime


def read_validation(log: Path) -> Dict[str, Dict[str, float]]:
    """What fairseq-train printed of the validation data, by number of updates.

    Args:
        log: the output of fairseq-hydra-train with ``common.log_format=json``.

    Returns:
        for each number of updates, and for ``last``, the percentages it printed, as shares, by
        their names: ``correct``, ``exact`` and the other verdicts.
    """
    found: Dict[str, Dict[str, float]] = {}
    with open(log, encoding="utf-8") as lines:
        for line in lines:
            _, mark, data = line.partition("[valid][INFO] - {")
            if not mark:
                continue
            values = json.loads("{" + data)
            found[values["valid_num_updates"]] = {
                name: float(values[f"valid_{name}"]) / 100
                for name in ("correct", "exact", *(verdict.value for verdict in Verdict))
                if f"valid_{name}" in values
            }
            found["last"] = found[values["valid_num_updates"]]
    return found


def value_at(result: Dict[str, Any], path: str) -> Optional[float]:
    """The number at a dotted path of a result.

    Raises:
        UserError: there is none.
    """
    value: Any = result
    for key in path.split("."):
        if not isinstance(value, dict) or key not in value:
            raise UserError(f"a column asks for {path!r}, which the measurement does not have.")
        value = value[key]
    return value


def cell(values: Sequence[Optional[float]], share: bool = True) -> str:
    """A percentage or plain number, or the mean and the spread of those of several seeds."""
    factor, unit = (100, " %") if share else (1, "")
    known = [factor * value for value in values if value is not None]
    if not known:
        return "—"
    if len(known) == 1:
        return f"{known[0]:.2f}{unit}"
    return f"{statistics.mean(known):.2f} ± {statistics.stdev(known):.2f}{unit}"


def table(
    specification: Dict[str, Any], runs: List[Run], results: List[Optional[Dict[str, Any]]]
) -> List[List[str]]:
    """The rows of the table, conditions and models down, columns of measurements across."""
    columns = [
        (column, name, path)
        for name, measurement in specification["measurements"].items()
        for column, path in measurement["columns"].items()
    ]
    plain = [isinstance(path, dict) for _, _, path in columns]
    columns = [
        (column, name, path["number"] if isinstance(path, dict) else path)
        for column, name, path in columns
    ]
    rows = [[*specification.get("heading", ["Data", "Model"]), *(c for c, _, _ in columns)]]
    groups: Dict[tuple, List[Dict[str, Any]]] = {}
    for run, result in zip(runs, results):
        groups.setdefault((run.condition, run.model), []).append(result or {})
    for key, found in groups.items():
        cells = [
            cell([value_at(result[name], path) for result in found if name in result], not number)
            for (_, name, path), number in zip(columns, plain)
        ]
        rows.append([*key, *cells])
    return rows


def parse_args(argv: Optional[Sequence[str]]) -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("experiments", metavar="FILE.yaml", help="what to run")
    add("folder", metavar="DIR", help="has the data, and gets the results")
    add("--scale", default="mini", help="which hydra configuration (default: %(default)s)")
    add("--jobs", type=int, default=1, help="runs at a time (default: %(default)s)")
    return parser.parse_args(argv)


def main(argv: Optional[Sequence[str]] = None) -> int:
    """Runs the script.

    Args:
        argv: the command line, without the program's name; None for the real one.

    Returns:
        The exit status: 1 if a run failed, else 0.

    Raises:
        UserError: an option or a file cannot be used.
    """
    args = parse_args(argv)
    specification = read_specification(args.experiments)
    config_dir = Path(args.experiments).resolve().parent / "hydra"
    if not (config_dir / f"{args.scale}.yaml").is_file():
        raise UserError(f"--scale {args.scale}: there is no {config_dir / args.scale}.yaml.")
    if args.jobs < 1:
        raise UserError(f"--jobs {args.jobs}: at least 1.")
    folder = Path(args.folder).resolve()
    runs = runs_of(specification, folder)
    for run in runs:
        if not run.data.is_dir():
            raise UserError(f"{run.data} is missing; prepare the data of {run.condition!r} first.")
    threads = max(1, (os.cpu_count() or 1) // args.jobs)
    runner = Runner(config_dir, args.scale, folder, specification["measurements"], threads)
    for run in runs:
        runner.check(run)
    with ThreadPoolExecutor(args.jobs) as executor:
        results = list(executor.map(runner, runs))
    text = markdown_table(table(specification, runs, results))
    print(text)
    everything = [
        {"condition": run.condition, "model": run.model, "seed": run.seed, "results": result}
        for run, result in zip(runs, results)
    ]
    name = folder / Path(args.experiments).stem
    with replacing(f"{name}.md", f"{name}.json") as (markdown, raw):
        markdown.write(text + "\n")
        json.dump(everything, raw, indent=1)
    return 1 if None in results else 0


if __name__ == "__main__":
    sys.exit(main())
