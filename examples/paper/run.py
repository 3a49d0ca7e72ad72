"""Makes the tables and figures of the paper: data, trainings, measurements.

    python examples/paper/run.py TASK [SCALE] [STEP] [NAME=VALUE ...] [--out DIR]
    python examples/paper/run.py prop mini results

TASK is a YAML file beside this one, STEP one of its steps, ``model`` by default, and NAME=VALUE
changes one of its values, as in ``labels=aiger``. Results go to ``outputs/TASK-SCALE``. What is
done is not done again: a command that was interrupted goes on when it is given again.
"""

import argparse
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List, Optional

from omegaconf import OmegaConf
from omegaconf.errors import ConfigKeyError

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE), str(ROOT)]

from pace import updates_within  # noqa: E402

from sit_fairseq.commands._options import at_least  # noqa: E402
from sit_fairseq.errors import UserError  # noqa: E402
from sit_fairseq.evaluation.experiment_runs import import_path, run_experiments  # noqa: E402
from sit_fairseq.evaluation.experiments import make_experiments  # noqa: E402
from sit_fairseq.storage.journal import Journal  # noqa: E402


def read_task(task: str, scale: str, settings: List[str], out: Path) -> Dict[str, Any]:
    """What a task says at a scale.

    Args:
        task: name of a YAML file beside this one.
        scale: which of its ``scales`` is merged into the rest.
        settings: ``NAME=VALUE``, merged after that.
        out: the folder of the results, ``${out}`` in the file.

    Raises:
        UserError: there is no such task, scale or value.
    """
    path = HERE / f"{task}.yaml"
    if not path.is_file() or task == "logic":
        known = sorted({path.stem for path in HERE.glob("*.yaml")} - {"logic"})
        raise UserError(f"there is no task {task}, but {', '.join(known)}")
    found = OmegaConf.load(path)
    defaults = [OmegaConf.load(HERE / f"{name}.yaml") for name in found.pop("defaults", [])]
    found = OmegaConf.merge(*defaults, found)
    scales = found.pop("scales")
    if scale not in scales:
        raise UserError(f"{task} has no scale {scale}, but {', '.join(scales)}")
    places = {"root": str(ROOT), "out": str(out)}
    found = OmegaConf.merge(found, scales[scale], places)
    OmegaConf.set_struct(found, True)
    try:
        found = OmegaConf.merge(found, OmegaConf.from_dotlist(settings), places)
    except ConfigKeyError as error:
        raise UserError(f"{task} has no value {error.full_key}")
    content = OmegaConf.to_container(found, resolve=True)
    for step, lines in content["steps"].items():
        content["steps"][step] = [" ".join(line.split()) for line in lines]
    return content


class Paper:
    """The steps of a task.

    Args:
        task: what :func:`read_task` has found.
        out: the folder of the results.
        journal: has the commands that are done.
        jobs: trainings at a time.
        minutes: for the training of the step ``model``; None for all of its updates.
    """

    def __init__(
        self,
        task: Dict[str, Any],
        out: Path,
        journal: Journal,
        jobs: int,
        minutes: Optional[float],
    ) -> None:
        self._task, self._out, self._journal = task, out, journal
        self._jobs, self._minutes = jobs, minutes
        self._done = {entry["line"] for entry in journal.entries if "line" in entry}
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        self._environment = {**os.environ, "PATH": path, "PYTHONPATH": import_path(str(ROOT))}
        self._environment["PYTHONWARNINGS"] = "ignore"

    def step(self, name: str) -> bool:
        """Does what of a step is not done; a command that is done again has the later ones follow.

        Returns:
            Whether there was anything to do but tables.

        Raises:
            UserError: a command failed.
        """
        changed = False
        for line in self._task["steps"][name]:
            first, *rest = shlex.split(line)
            if line in self._task["steps"]:
                changed |= self.step(line)
            elif first == "table":
                self.table(*rest)
            elif changed or line not in self._done:
                print(f"\n== {line}", flush=True)
                (
                    self.binarise(*rest)
                    if first == "binarise"
                    else self._call("bash", "-eo", "pipefail", "-c", line)
                )
                self._journal.append({"line": line})
                self._done.add(line)
                changed = True
        return changed

    def binarise(self, destination: str, train: str, valid: str, dictionary: str = "") -> None:
        """Runs fairseq-preprocess, with the dictionary of another folder if one is named."""
        words = ["--source-lang", "src", "--target-lang", "tgt", "--joined-dictionary"]
        words += ["--srcdict", f"{dictionary}/dict.src.txt"] if dictionary else []
        words += ["--trainpref", train, "--validpref", valid, "--destdir", destination]
        shutil.rmtree(self._out / destination, ignore_errors=True)
        self._call("fairseq-preprocess", *words, capture_output=True)

    def table(self, name: str) -> None:
        """Trains and measures what a table needs, and prints it."""
        content = self._task["tables"][name]
        if name == "model" and self._minutes is not None:
            paced = updates_within(self._minutes, content, self._out, HERE, self._journal)
            content = {**content, "overrides": f"{content['overrides']} {paced}"}
        experiments = make_experiments(content, name, HERE)
        text, failed = run_experiments(experiments, self._out, name, self._jobs)
        print(f"\n{text}\n")
        if "labels" in self._task:
            print(f"Exact: the answer is the label; labels are {self._task['labels']}.")
        if failed:
            raise UserError(f"{failed} runs failed, see above; the same command goes on")

    def _call(self, *words: str, **options: Any) -> None:
        done = subprocess.run(words, cwd=self._out, env=self._environment, **options)
        if done.returncode:
            sys.stderr.buffer.write(done.stderr or b"")
            raise UserError(f"{words[0]} failed; the same command goes on from there")


def main() -> None:
    """Reads the command line and does what it says."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("task", metavar="TASK")
    parser.add_argument("scale", metavar="SCALE", nargs="?", default="mini")
    parser.add_argument("step", metavar="STEP", nargs="?", default="model")
    parser.add_argument("settings", metavar="NAME=VALUE", nargs="*")
    parser.add_argument("--out", type=Path, metavar="DIR", help="(default: outputs/TASK-SCALE)")
    parser.add_argument(
        "--jobs", type=at_least(1), default=2, help="trainings at a time (default: 2)"
    )
    parser.add_argument("--minutes", type=float, help="train the model for so long at most")
    args = parser.parse_intermixed_args()
    out = (args.out or ROOT / "outputs" / f"{args.task}-{args.scale}").absolute()
    task = read_task(args.task, args.scale, args.settings, out)
    if args.step not in task["steps"]:
        raise UserError(f"{args.task} has no step {args.step}, but {', '.join(task['steps'])}")
    depends = {"task": args.task, "scale": args.scale, "settings": args.settings}
    advice = "name another folder by --out"
    with Journal(
        str(out / "steps.jsonl"), "steps", depends, advice=advice, where="--out"
    ) as journal:
        Paper(task, out, journal, args.jobs, args.minutes).step(args.step)


if __name__ == "__main__":
    main()
