"""Files of experiments: what to train and to measure, and the table of the results."""

import re
import shlex
import statistics
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

import yaml
from omegaconf import MISSING, OmegaConf

from sit_fairseq.errors import UserError

# Options of ``sit evaluate`` that write where they say, which is not for a file to say.
_WRITING = ("--questions", "--eval-results")

# Bytes of a file of settings, and runs that it may mean.
_LARGEST, _MOST_RUNS = 2**18, 10_000

# The measurement that a training makes by itself.
TRAINING = "training"

# The result of each measurement of a run, by its name; None if the run failed.
Results = Optional[Dict[str, Dict[str, Any]]]


@dataclass
class Condition:
    """Training data: a folder of fairseq-preprocess; ``{seed}`` there is the seed of the run.

    Without models, all of them.
    """

    data: str = MISSING
    models: Optional[List[str]] = None
    seeds: Optional[List[int]] = None


@dataclass
class Measurement:
    """A command of ``sit evaluate`` without a model, and what its columns show of the result.

    ``{data}`` in the command is the data of the condition.
    """

    command: str = ""
    columns: Dict[str, Any] = field(default_factory=dict)
    models: Optional[List[str]] = None
    conditions: Optional[List[str]] = None


@dataclass
class Experiments:
    """What a file of experiments says; ``sit experiments --help`` describes its parts."""

    hydra: List[str] = field(default_factory=list)
    overrides: str = ""
    seeds: List[int] = field(default_factory=lambda: [1])
    heading: List[str] = field(default_factory=lambda: ["Data", "Model"])
    conditions: Dict[str, Condition] = MISSING
    models: Dict[str, str] = field(default_factory=dict)
    checkpoints: Dict[str, str] = field(default_factory=dict)
    measurements: Dict[str, Measurement] = MISSING


class Run(NamedTuple):
    """One model under one condition with one seed; the checkpoint is None if it is trained."""

    condition: str
    model: str
    seed: int
    data: Path
    overrides: List[str]
    checkpoint: Optional[Path]
    folder: Path

    @property
    def name(self) -> str:
        """For messages."""
        return f"{self.condition} / {self.model} / seed {self.seed}"


def read_experiments(path: str) -> Experiments:
    """Reads a file of experiments, in YAML; see :func:`read_yaml`.

    Raises:
        UserError: it cannot be read, or says something that cannot be meant.
    """
    return make_experiments(read_yaml(path), path, Path(path).parent)


def make_experiments(content: Any, name: str, folder: Path) -> Experiments:
    """Checks what YAML makes of a file of experiments, with hydra configurations in a folder.

    Raises:
        UserError: it says something that cannot be meant, or a name is no name of a file.
    """
    refuse_code(content, name)
    try:
        found = OmegaConf.to_object(OmegaConf.merge(OmegaConf.structured(Experiments), content))
    except Exception as error:  # omegaconf has a dozen of them
        raise UserError(f"{name}: {_first_line(error)}")
    texts = [*found.hydra, *found.heading, *found.models.values(), *found.checkpoints.values()]
    if not all(isinstance(text, str) for text in texts):  # omegaconf lets lists pass
        raise UserError(f"{name}: hydra, heading, models and checkpoints are made of texts")
    found.hydra = [str(folder.absolute() / file) for file in found.hydra]
    known = {*found.models, *found.checkpoints, *found.conditions}
    parts = [*found.conditions.values(), *found.measurements.values()]
    asked = {model for part in parts for model in part.models or ()}
    asked.update(c for m in found.measurements.values() for c in m.conditions or ())
    if asked - known:
        raise UserError(f"{name} has no models or conditions {', '.join(sorted(asked - known))}")
    for kind in ("conditions", "models", "checkpoints", "measurements"):
        for own in getattr(found, kind):
            if not (own.isprintable() and re.fullmatch(r"[^./][^/]{,99}", own)):
                raise UserError(
                    f"{name}: {own[:120]!r} of its {kind} cannot be the name of a file; leave out "
                    "slashes, control characters and a dot at the beginning"
                )
    for text in (found.overrides, *found.models.values(), *_commands(found)):
        try:
            words = shlex.split(text)
        except ValueError as error:
            raise UserError(f"{name}: {text[:80]!r} cannot be read ({error}); mend its quotes")
        options = {word.partition("=")[0] for word in words if word[2:]}
        if any(other.startswith(option) for option in options for other in _WRITING):
            raise UserError(f"{name}: {text[:80]!r} writes files of its own; leave that option out")
    runs = sum(
        len(condition.models or [*found.models, *found.checkpoints])
        * len(condition.seeds or found.seeds)
        for condition in found.conditions.values()
    )
    if runs > _MOST_RUNS:
        raise UserError(f"{name} means {runs} runs, more than {_MOST_RUNS}; make several files")
    all_runs = make_runs(found, folder)
    if not all_runs:
        raise UserError(f"{name} has nothing to train or to measure")
    folders = Counter(run.folder for run in all_runs)
    twice = next((run.name for run in all_runs if folders[run.folder] > 1), None)
    if twice is not None:
        raise UserError(f"{name}: {twice} has the folder of another run; change its names or seeds")
    for measured, measurement in found.measurements.items():
        if not measurement.command and measured != TRAINING:
            raise UserError(f"{name} has no command for the measurement {measured}")
        for title, path in measurement.columns.items():
            if not isinstance(_path(path), str):
                raise UserError(f"{name}: the column {title} is no PATH and no {{number: PATH}}")
    return found


def make_runs(experiments: Experiments, folder: Path) -> List[Run]:
    """All runs, every row of the table with its first seed before any with its second.

    The folder has the data, and gets the results.
    """
    turns = []
    for name, condition in experiments.conditions.items():
        for model in condition.models or [*experiments.models, *experiments.checkpoints]:
            words = f"{experiments.overrides} {experiments.models.get(model, '')}"
            given = experiments.checkpoints.get(model)
            for turn, seed in enumerate(condition.seeds or experiments.seeds):
                run = Run(
                    condition=name,
                    model=model,
                    seed=seed,
                    data=folder / condition.data.replace("{seed}", str(seed)),
                    overrides=[*shlex.split(words), f"common.seed={seed}"],
                    checkpoint=None if given is None else folder / given,
                    folder=folder / "runs" / _slug(name) / _slug(model) / f"seed{seed}",
                )
                turns.append((turn, run))
    return [run for _, run in sorted(turns, key=lambda pair: pair[0])]


def _commands(experiments: Experiments) -> List[str]:
    return [measurement.command for measurement in experiments.measurements.values()]


class _Loader(yaml.SafeLoader):
    """Of YAML without aliases, by which some lines can mean any amount of data."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise ValueError(
                f"*{self.peek_event().anchor} stands for what is elsewhere; write that"
            )
        return super().compose_node(parent, index)


# 1e-3 is a number for OmegaConf, too.
_NUMBER = re.compile(r"[-+]?[0-9][0-9_]*(\.[0-9_]*)?[eE][-+]?[0-9]+")
_Loader.add_implicit_resolver("tag:yaml.org,2002:float", _NUMBER, list("-+0123456789"))


def read_yaml(path: str) -> Any:
    """Reads a file of settings, in YAML, as data.

    Raises:
        UserError: it cannot be read, or is more than data, see :func:`parse_yaml`.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise UserError(f"Cannot read {path}: {_first_line(error)}")
    return parse_yaml(text, path)


def parse_yaml(text: str, name: str) -> Any:
    """Reads YAML as data.

    Raises:
        UserError: it is none, or too large, or holds aliases or what :func:`refuse_code` refuses.
    """
    try:
        if len(text) > _LARGEST:
            raise ValueError(f"it has more than {_LARGEST} characters")
        found = yaml.load(text, _Loader)
    except Exception as error:  # a tag that its value does not suit ends in anything
        raise UserError(f"Cannot read {name}: {_first_line(error)}")
    refuse_code(found, name)
    return found


def refuse_code(content: Any, name: str) -> None:
    """Refuses settings that OmegaConf would replace, or of which hydra would build objects.

    Raises:
        UserError: there is a ``${...}``, or an option ``_target_``.
    """
    left = [content]
    while left:
        one = left.pop()
        if isinstance(one, dict):
            left += [*one, *one.values()]
        elif isinstance(one, (list, tuple)):
            left += one
        elif isinstance(one, str) and ("${" in one or one == "_target_"):
            raise UserError(
                f"{name} has {one[:80]!r}, which hydra would replace or run; settings are plain values"
            )


def _first_line(error: Exception) -> str:
    """What is wrong, without omegaconf's details, and where."""
    place = getattr(error, "full_key", None)
    return (str(error) or "unreadable").splitlines()[0][:300] + (f" in {place}" if place else "")


def _slug(name: str) -> str:
    """A name that is good for a folder."""
    return re.sub(r"[^\w.-]", "_", name)


def experiments_table(
    experiments: Experiments, runs: Sequence[Run], results: Sequence[Results]
) -> List[List[str]]:
    """The cells of the table: the head, then conditions and models down, columns across.

    Raises:
        UserError: a column asks for what a result does not have.
    """
    columns = [(m, *c) for m, v in experiments.measurements.items() for c in v.columns.items()]
    rows = [[*experiments.heading, *(title for _, title, _ in columns)]]
    groups: Dict[Tuple[str, str], List[Dict[str, Any]]] = {}
    for run, result in zip(runs, results):
        groups.setdefault((run.condition, run.model), []).append(result or {})
    for key, group in groups.items():
        rows.append([*key])
        for name, _, path in columns:
            values = [_value_at(result[name], _path(path)) for result in group if name in result]
            rows[-1].append(_cell(values, isinstance(path, str)))
    return rows


def _path(column: Any) -> Any:
    """The path of a column, ``PATH`` or ``{number: PATH}``; of anything else no text."""
    return column.get("number") if isinstance(column, dict) else column


def _value_at(result: Mapping[str, Any], path: str) -> Optional[float]:
    """The number at a dotted path of a result, None if it is known that there is none."""
    value: Any = result
    for key in path.split("."):
        value = value.get(key, "") if isinstance(value, dict) else ""
    if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float))):
        raise UserError(f"A column asks for {path!r}, where the result has no number")
    return value


def _cell(values: Sequence[Optional[float]], share: bool) -> str:
    """A percentage or plain number; of several seeds the mean, and the least and the greatest."""
    factor, unit = (100, " %") if share else (1, "")
    known = [factor * value for value in values if value is not None]
    if not known:
        return "—"
    if not share and all(isinstance(value, int) and value == known[0] for value in known):
        return f"{known[0]:,}"
    if len(known) == 1:
        return f"{known[0]:.2f}{unit}"
    mean = f"{statistics.mean(known):.2f}{unit}"
    return f"{mean} ({min(known):.2f}–{max(known):.2f})"
