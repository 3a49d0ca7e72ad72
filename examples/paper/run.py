"""Makes tables of experiments: data, trainings, measurements.

    python examples/paper/run.py examples/binding/results.yaml --out outputs/binding
    python examples/paper/run.py TASK [SCALE] [STEP] [NAME=VALUE ...] [--out DIR]
    python examples/paper/run.py prop mini results

FILE.yaml is a table. Each of its models is trained under every condition with every seed, then
measured by ``sit evaluate``. The table is written to ``DIR/FILE.md`` after each run::

    hydra: [hydra.yaml]                         # settings of fairseq-hydra-train; beside the file
    overrides: optimization.max_update=2500     # of all runs
    seeds: [1, 2, 3]
    heading: [Training data, Model]
    conditions:                                 # folders of fairseq-preprocess in DIR
      Normal: {data: bin}
      Wide: {data: "bin.wide{seed}", models: [Baseline], seeds: [1]}
    models:                                     # each with overrides of its own
      Baseline: model.symbol_embedding=fixed model.stream_attention=EP-DP-CP
      Proposed: ""
    checkpoints: {Shipped: model.pt}            # models that need no training
    measurements:
      test:
        command: prop data/test                 # of sit evaluate; {data} is that of the condition
        columns: {Correct: correct.share}       # a path in its result
      more:
        module: examples.code.measure           # is run instead of sit evaluate
        command: data
        columns: {Bits: test.written.all.bits}
      training:                                 # needs no command
        columns: {After 500: validation.500.correct, CPU minutes: cpu_minutes}

Files are data: ``${...}``, aliases, ``_target_`` and settings of ``hydra`` are refused, and so are
modules and judges but those of the package and of examples.

TASK is one of the paper's, a YAML file beside this one. STEP is one of its steps, ``model`` by
default, and NAME=VALUE changes one of its values, as in ``labels=aiger``.

Results go to ``outputs/TASK-SCALE``, or to ``outputs`` and the folder of the file. The same command
goes on after an interruption. It does not repeat what is finished.
"""

import argparse
import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List, Optional

from omegaconf import OmegaConf
from omegaconf.errors import ConfigKeyError

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT))

from examples.paper.pace import updates_within  # noqa: E402
from examples.paper.runs import PACKAGE, import_path, run_table  # noqa: E402
from examples.paper.tables import make_table, read_yaml  # noqa: E402
from sit_fairseq.datasets.options import at_least  # noqa: E402
from sit_fairseq.errors import UserError, advised  # noqa: E402
from sit_fairseq.storage.journal import Journal  # noqa: E402


def read_task(task: str, scale: str, settings: List[str], out: Path) -> Dict[str, Any]:
    """The content of a task, with ``scales[scale]``, ``NAME=VALUE`` and ``${out}`` merged into it.

    Raises:
        UserError: there is no such task, scale or value.
    """
    known = sorted({path.stem for path in HERE.glob("*.yaml")} - {"logic"})
    if task not in known:
        raise UserError(f"there is no task {task}, but {', '.join(known)}")
    found = OmegaConf.load(HERE / f"{task}.yaml")
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
    return OmegaConf.to_container(found, resolve=True)


@dataclass
class Paper:
    """The steps of a task; the journal has the commands that are done."""

    task: Dict[str, Any]
    out: Path
    journal: Journal
    jobs: int = 2
    minutes: Optional[float] = None  # for the training of the step ``model``

    def __post_init__(self) -> None:
        self._done = {entry.get("line") for entry in self.journal.entries}

    def step(self, name: str, changed: bool = False) -> bool:
        """Does the rest of a step; once a command is done, the later ones follow, also in the steps
        after it.

        Args:
            changed: whether an earlier command was done.

        Returns:
            Whether one was done now, or earlier.

        Raises:
            UserError: a command failed.
        """
        for line in (" ".join(line.split()) for line in self.task["steps"][name]):
            first, *rest = shlex.split(line)
            if line in self.task["steps"]:
                changed = self.step(line, changed)
            elif first == "table":
                self.table(*rest)
            elif changed or line not in self._done:
                print(f"\n== {line}", flush=True)
                if first == "binarise":
                    self.binarise(*rest)
                else:
                    self._call("bash", "-eo", "pipefail", "-c", line)
                self.journal.append({"line": line})
                self._done.add(line)
                changed = True
        return changed

    def binarise(self, destination: str, train: str, valid: str, dictionary: str = "") -> None:
        """Runs fairseq-preprocess, with the dictionary of another folder if one is named."""
        words = ["--source-lang", "src", "--target-lang", "tgt", "--joined-dictionary"]
        words += ["--srcdict", f"{dictionary}/dict.src.txt"] if dictionary else []
        words += ["--trainpref", train, "--validpref", valid, "--destdir", destination]
        shutil.rmtree(self.out / destination, ignore_errors=True)
        self._call("fairseq-preprocess", *words, capture_output=True)

    def table(self, name: str) -> None:
        """Trains and measures what a table needs, and prints it."""
        content = self.task["tables"][name]
        if name == "model" and self.minutes is not None:
            paced = updates_within(self.minutes, content, self.out, HERE, self.journal)
            content = {**content, "overrides": f"{content['overrides']} {paced}"}
        show_table(content, name, HERE, self.out, self.jobs)
        if "labels" in self.task:
            print(f"Exact: the answer is the label; labels are {self.task['labels']}.")

    def _call(self, *words: str, **options: Any) -> None:
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        more = {"PATH": path, "PYTHONPATH": import_path(str(ROOT)), "PYTHONWARNINGS": "ignore"}
        done = subprocess.run(words, cwd=self.out, env={**os.environ, **more}, **options)
        if done.returncode:
            sys.stderr.buffer.write(done.stderr or b"")
            raise UserError(f"{words[0]} failed; the same command goes on from there")


def show_table(
    content: Any, name: str, beside: Path, out: Path, jobs: int, user_dir: Path = PACKAGE
) -> None:
    """Trains and measures what the content of a table's file says, and prints the table."""
    text, failed = run_table(make_table(content, name, beside), out, name, jobs, user_dir)
    print(f"\n{text}\n")
    if failed:
        raise UserError(f"{failed} runs failed, see above; the same command goes on")


def main() -> None:
    """Reads the command line and does what it says."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("task", metavar="TASK|FILE.yaml")
    add("scale", metavar="SCALE", nargs="?", help="(default: mini)")
    add("step", metavar="STEP", nargs="?", help="(default: model)")
    add("settings", metavar="NAME=VALUE", nargs="*")
    add("--out", type=Path, metavar="DIR", help="folder of the data and the results")
    add("--jobs", type=at_least(1), help="trainings at a time (default: 2; of a FILE.yaml: 1)")
    add("--minutes", type=float, help="train the task's model for so long at most")
    add("--user-dir", type=Path, metavar="DIR", help="with models of FILE.yaml")
    args = parser.parse_intermixed_args()
    file = Path(args.task).resolve()
    if file.suffix == ".yaml":
        if args.scale is not None or args.minutes is not None:
            raise UserError(f"{args.task} takes no SCALE, STEP, NAME=VALUE or --minutes; change it")
        out = (args.out or ROOT / "outputs" / file.parent.name).absolute()
        content, user_dir = read_yaml(str(file)), (args.user_dir or PACKAGE).absolute()
        show_table(content, file.stem, file.parent, out, args.jobs or 1, user_dir)
        return
    args.scale, args.step = args.scale or "mini", args.step or "model"
    if args.user_dir is not None or args.minutes is not None and args.step != "model":
        raise UserError("--user-dir is for FILE.yaml, --minutes for the step model; leave it out")
    out = (args.out or ROOT / "outputs" / f"{args.task}-{args.scale}").absolute()
    task = read_task(args.task, args.scale, args.settings, out)
    if args.minutes is not None and "model" not in task.get("tables", {}):
        raise UserError(f"trainings of {args.task} have a fixed length; leave out --minutes")
    if args.step not in task["steps"]:
        raise UserError(f"{args.task} has no step {args.step}, but {', '.join(task['steps'])}")
    depends = {"task": args.task, "scale": args.scale, "settings": args.settings}
    messages = {"advice": "name another folder by --out", "where": "--out"}
    with Journal(str(out / "steps.jsonl"), "steps", depends, **messages) as journal:
        Paper(task, out, journal, args.jobs or 2, args.minutes).step(args.step)


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        sys.exit(advised(str(error)))
