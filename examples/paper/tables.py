"""Files of tables: the models to train and to measure, and the cells of what was measured."""

import argparse
import ast
import contextlib
import json
import re
import shlex
import statistics
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, Iterator, List, NamedTuple, NoReturn, Optional, Sequence

import yaml
from omegaconf import MISSING, DictConfig, OmegaConf

from sit_fairseq.commands import evaluate
from sit_fairseq.domains.by_name import is_ours, of_file
from sit_fairseq.errors import UserError

# Characters and depth of a file, and runs of a table.
_LARGEST, _DEEPEST, _MOST_RUNS = 2**18, 20, 10_000

# What a table may name beside the package's own: judges, and modules that measure.
JUDGES = ("examples.sql.queries:SqlJudge",)
MODULES = tuple(map("examples.{}".format, ("code.measure", "code.misuse", "planning.growth")))

# The options of trainings and of ``sit evaluate`` whose value is imported.
IMPORTED = ("constrained", "domain", "risk_semantics", "semantics", "validate_semantics", "verify")

# The measurement that each training makes by itself.
TRAINING = "training"

# Columns that are shares, by the ends of their paths.
_SHARES = ("share", "mean", "accuracy", "correct", "exact")

# The result of each measurement of a run, by its name; None if the run failed.
Results = Optional[Dict[str, Dict[str, Any]]]


@dataclass
class Condition:
    """Training data: a folder of fairseq-preprocess, ``{seed}`` in its name being the run's seed."""

    data: str = MISSING
    models: Optional[List[str]] = None  # all
    seeds: Optional[List[int]] = None  # those of the table


@dataclass
class Measurement:
    """A command of ``sit evaluate`` without a model, and the columns that show its result.

    ``{data}`` in the command is the data of the condition. A module, one of ``MODULES``, is run in
    the place of ``sit evaluate``; it takes --path and --result, and writes the same kind of file.
    """

    command: str = ""
    module: str = ""
    columns: Dict[str, str] = field(default_factory=dict)
    models: Optional[List[str]] = None
    conditions: Optional[List[str]] = None

    def of(self, run: "Run") -> bool:
        """Whether a run is measured so."""
        models, conditions = self.models or [run.model], self.conditions or [run.condition]
        return run.model in models and run.condition in conditions


@dataclass
class Table:
    """The content of a file; ``run.py --help`` shows one."""

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


def read_yaml(name: str, text: Optional[str] = None) -> Any:
    """Reads a file of settings, or a text of some name, as data.

    Raises:
        UserError: it cannot be read, is too large or deep, has aliases (by which some lines mean any
            amount of data), or what :func:`refuse_code` refuses.
    """
    with _explaining(name):  # a tag that its value does not suit ends in anything
        text = Path(name).read_text(encoding="utf-8") if text is None else text
        if len(text) > _LARGEST:
            raise ValueError(f"it has more than {_LARGEST} characters")
        depth = 0
        for event in yaml.parse(text, yaml.SafeLoader):
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if isinstance(event, yaml.AliasEvent) or depth > _DEEPEST:
                raise ValueError("it has an alias, or is too deep; write plain settings")
        found = OmegaConf.to_container(OmegaConf.create(text))
    refuse_code(found, name)
    return found


def refuse_code(content: Any, name: str) -> None:
    """Raises a UserError if OmegaConf would replace, or hydra would run, a part of settings."""
    if code := re.search(r"\$\{[^\"]*|_target_", json.dumps(content, default=str)):
        raise UserError(f"{name} has {code[0][:80]!r}, which hydra would run; write plain values")


@contextlib.contextmanager
def _explaining(name: str) -> Iterator[None]:
    """Makes a UserError of any exception, of which omegaconf and yaml have dozens."""
    try:
        yield
    except Exception as error:
        place = getattr(error, "full_key", None)
        reason = (str(error) or "unreadable").splitlines()[0][:300] + f" in {place}" * bool(place)
        raise UserError(f"{name} cannot be used: {reason}")


def settings(run: Run, base: Any) -> DictConfig:
    """The settings of a training: a configuration with the overrides of its run.

    Raises:
        UserError: they cannot be read, or are hydra's own, which say what to build and where.
    """
    found = OmegaConf.merge(base)
    for word in run.overrides:
        key, _, text = word.partition("=")
        name = f"{word[:80]} of {run.name}"
        [value] = read_yaml(name, f"- {text}")
        with _explaining(name):
            OmegaConf.update(found, key, value)
    for section in ("hydra", "defaults"):
        if section in found:
            raise UserError(f"{run.name} has settings of hydra's own; leave out {section}")
    content = OmegaConf.to_container(found)
    refuse_code(content, run.name)
    with _explaining(run.name):
        _check_settings(content)
    return found


def _check_settings(content: Any, option: str = "") -> None:
    """Refuses names of what is not the package's own, and text that Python would run: fairseq evaluates
    some options."""
    if isinstance(content, (dict, list)):
        for key, value in content.items() if isinstance(content, dict) else enumerate(content):
            _check_settings(value, str(key))
    elif option in IMPORTED:
        check_name(content)
    elif isinstance(content, str) and option != "symbols":
        with contextlib.suppress(SyntaxError, ValueError):  # which is no expression
            for node in ast.walk(ast.parse(content.strip(), mode="eval")):
                if isinstance(node, ast.Call):
                    raise UserError(f"{option} has {content[:80]!r}, which Python would run")


def check_name(name: Any) -> None:
    """Raises a UserError unless a name in a table is the package's own, or that of one of its judges."""
    if name not in (None, "", "auto", "none") and not is_ours(name):
        of_file(name, known=JUDGES)


class _Parser(argparse.ArgumentParser):
    """Raises its errors."""

    def error(self, message: str) -> NoReturn:
        raise UserError(message)


def check_command(command: str) -> None:
    """Raises a UserError unless a text is a command of ``sit evaluate`` without a model that imports
    nothing but the package's own."""
    parser = _Parser(add_help=False)
    evaluate.add_arguments(parser)
    args = parser.parse_intermixed_args(words(command))
    for name in (args.semantics, args.verify, args.constrained):
        check_name(name)


def words(text: str) -> List[str]:
    """Splits a text as a shell does; a UserError if its quotes do not match."""
    try:
        return shlex.split(text)
    except ValueError as error:
        raise UserError(f"{text[:80]!r} cannot be read ({error}); mend its quotes")


def make_table(content: Any, name: str, folder: Path) -> Table:
    """Checks the content of a file of a table.

    Args:
        content: of the file.
        name: for messages.
        folder: of its hydra configurations.

    Raises:
        UserError: it means nothing, or too much.
    """
    refuse_code(content, name)
    with _explaining(name):
        table = OmegaConf.to_object(OmegaConf.merge(OmegaConf.structured(Table), content))
        table.hydra = [str(folder.absolute() / file) for file in table.hydra]
    parts = [*table.conditions.values(), *table.measurements.values()]
    known = {*table.models, *table.checkpoints, *table.conditions}
    asked = {model for part in parts for model in part.models or ()}
    asked.update(c for m in table.measurements.values() for c in m.conditions or ())
    if asked - known:
        raise UserError(f"{name} has no models or conditions {', '.join(sorted(asked - known))}")
    texts = [*known, *table.heading, *table.models.values(), *table.checkpoints.values()]
    for measured, measurement in table.measurements.items():
        texts += [measured, *measurement.columns, *measurement.columns.values()]
    for text in texts:
        if not (isinstance(text, str) and text.isprintable()):  # omegaconf lets lists pass
            raise UserError(f"{name}: {text!r} is no printable text")
    for measured, measurement in table.measurements.items():
        if measured == TRAINING:
            continue
        if not words(measurement.command):
            raise UserError(f"{name} has no command for the measurement {measured}")
        with _explaining(f"{name}: {measured}"):
            if measurement.module:
                of_file(measurement.module, known=MODULES)
            else:
                check_command(measurement.command)
    number = sum(
        len(condition.models or [*table.models, *table.checkpoints])
        * len(condition.seeds or table.seeds)
        for condition in table.conditions.values()
    )
    if not 0 < number <= _MOST_RUNS:
        raise UserError(f"{name} means {number} runs; it has to mean 1 to {_MOST_RUNS}")
    folders = Counter(run.folder for run in make_runs(table, folder))
    if max(folders.values()) > 1 or len({*map(slug, table.measurements)}) < len(table.measurements):
        raise UserError(f"{name}: two runs or measurements have one name; change names or seeds")
    return table


def make_runs(table: Table, folder: Path) -> List[Run]:
    """All runs, every row with its first seed before any with its second.

    Args:
        table: says what to train.
        folder: has the data, and gets the results.
    """
    turns = []
    for name, condition in table.conditions.items():
        for model in condition.models or [*table.models, *table.checkpoints]:
            overrides = words(f"{table.overrides} {table.models.get(model, '')}")
            given = table.checkpoints.get(model)
            for turn, seed in enumerate(condition.seeds or table.seeds):
                run = Run(
                    condition=name,
                    model=model,
                    seed=seed,
                    data=folder / condition.data.replace("{seed}", str(seed)),
                    overrides=[*overrides, f"common.seed={seed}"],
                    checkpoint=None if given is None else folder / given,
                    folder=folder / "runs" / slug(name) / slug(model) / f"seed{seed}",
                )
                turns.append((turn, run))
    return [run for _, run in sorted(turns, key=lambda pair: pair[0])]


def slug(name: str) -> str:
    """A name that is good for a file."""
    return re.sub(r"[^\w.-]|^\.+", "_", name)[:100]


def cells(table: Table, runs: Sequence[Run], results: Sequence[Results]) -> List[List[str]]:
    """The cells of the table: the head, then conditions and models down, columns across.

    Raises:
        UserError: a result lacks the number that a column shows.
    """
    columns = [(m, *c) for m, v in table.measurements.items() for c in v.columns.items()]
    rows = [[*table.heading, *(title for _, title, _ in columns)]]
    groups: Dict[tuple, List[Dict[str, Any]]] = {}
    for run, result in zip(runs, results):
        groups.setdefault((run.condition, run.model), []).append(result or {})
    for key, group in groups.items():
        rows.append([*key])
        for name, _, path in columns:
            values = [_value_at(result[name], path) for result in group if name in result]
            rows[-1].append(_cell(values, path.split(".")[-1] in _SHARES))
    return rows


def _value_at(result: Any, path: str) -> Optional[float]:
    """The number at a dotted path of a result; None where the result says None."""
    for key in path.split("."):
        result = result.get(key, "") if isinstance(result, dict) else ""
    if result is not None and (isinstance(result, bool) or not isinstance(result, (int, float))):
        raise UserError(f"A column shows {path!r}, where the result has no number")
    return result


def _cell(values: Sequence[Optional[float]], share: bool) -> str:
    """A percentage or plain number; of several seeds the mean, and the least and the greatest."""
    factor, unit = (100, " %") if share else (1, "")
    known = [factor * value for value in values if value is not None]
    if not known:
        return "—"
    if not share and all(isinstance(value, int) and value == known[0] for value in known):
        return f"{known[0]:,}"
    text = f"{statistics.mean(known):.2f}{unit}"
    return text if len(known) == 1 else f"{text} ({min(known):.2f}–{max(known):.2f})"
