"""Files of experiments: which models to train under which conditions, and what to measure."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List, Mapping, Tuple

from omegaconf import OmegaConf

from sit_fairseq.errors import UserError

# The measurement that training makes by itself.
TRAINING = "training"

_PARTS = ("overrides", "seeds", "heading", "conditions", "models", "measurements", "scales")
_PARTS_OF_A_SCALE = ("overrides", "seeds", "models", "arguments")


@dataclass(frozen=True)
class Column:
    """A column of the table.

    Attributes:
        title: its head.
        path: where its number is in the result of the measurement, keys joined by dots.
        share: whether the number is a share, to be shown in percent.
    """

    title: str
    path: str
    share: bool


@dataclass(frozen=True)
class Measurement:
    """Something measured of each trained model.

    Attributes:
        name: its name.
        command: for ``sit evaluate``, without model and result; empty for ``training``.
        models: those it is meant for.
        conditions: likewise.
        columns: what is shown of its result.
    """

    name: str
    command: List[str]
    models: List[str]
    conditions: List[str]
    columns: List[Column]


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class Specification:
    """What a file of experiments says.

    Attributes:
        heading: what conditions and models are called in the table.
        runs: all runs in the order of the table.
        measurements: what to measure of each.
    """

    heading: List[str]
    runs: List[Run]
    measurements: List[Measurement]

    @property
    def columns(self) -> List[Tuple[Measurement, Column]]:
        """The columns of the table, each as its measurement and itself."""
        return [(m, column) for m in self.measurements for column in m.columns]


def read_specification(path: str, folder: Path, scale: str = "mini") -> Specification:
    """Reads and checks a file of experiments.

    Args:
        path: the file, in YAML.
        folder: has the data, and gets the results.
        scale: which part of ``scales`` to follow, if the file has any.

    Returns:
        What it says.

    Raises:
        UserError: it cannot be read, or something in it cannot be meant.
    """
    content = read_yaml(path, "name a file of experiments")
    return make_specification(content, folder, path, scale)


def read_yaml(path: str, advice: str) -> Dict[str, Any]:
    """Reads a file that maps names to values, all of which JSON can hold.

    Args:
        path: the file.
        advice: what to do if it cannot be used, for messages.

    Raises:
        UserError: it cannot be read, or holds something else.
    """
    try:
        with open(path, encoding="utf-8") as file:
            content = OmegaConf.to_container(OmegaConf.create(file.read()))
        json.dumps(content)
    except OSError as error:
        raise UserError(f"Cannot read {path}: {error.strerror}; {advice}.")
    except Exception as error:  # of the YAML parser, of omegaconf and of json
        reason = (str(error) or "unreadable").splitlines()[0]
        raise UserError(f"{path} is no YAML that can be used: {reason}; mend it, or {advice}.")
    if not isinstance(content, dict):
        raise UserError(f"{path} holds a list where names and values belong; {advice}.")
    return content


def make_specification(
    content: Any, folder: Path, path: str = "The file", scale: str = "mini"
) -> Specification:
    """Checks what a file of experiments says.

    Args:
        content: what YAML makes of the file.
        folder: has the data, and gets the results.
        path: name of the file, for messages.
        scale: see :func:`read_specification`.

    Returns:
        What it says.

    Raises:
        UserError: something in it cannot be meant.
    """
    return _Reader(path).specification(content, folder, scale)


class _Reader:
    """Takes parts of a file that are as they must be, and refuses others in one sentence."""

    def __init__(self, path: str) -> None:
        self._path = path

    def specification(self, content: Any, folder: Path, scale: str) -> Specification:
        content = self._mapping(content, "the file", _PARTS)
        for part in ("conditions", "models", "measurements"):
            if not content.get(part):
                raise self._error(f"has no mapping {part!r}")
        models = self._lists(content["models"], "the model", "models")
        common = self._strings(content.get("overrides", []), "overrides")
        seeds = self._seeds(content.get("seeds", [1]), "seeds")
        own = self._scale(content, scale)
        common += self._strings(own.get("overrides", []), f"overrides of the scale {scale}")
        if "seeds" in own:
            seeds = self._seeds(own["seeds"], f"the scale {scale}")
        for name, more in self._more(own, "models", scale, models).items():
            models[name] = models[name] + more
        arguments = self._more(own, "arguments", scale, content["measurements"])
        heading = self._strings(content.get("heading", ["Data", "Model"]), "heading")
        if len(heading) != 2:
            raise self._error("must have two words under 'heading', for conditions and models")
        turns = []
        conditions = self._mapping(content["conditions"], "conditions")
        for condition, value in conditions.items():
            where = f"the condition {condition!r}"
            value = {"data": value} if isinstance(value, str) else value
            value = self._mapping(value, where, ("data", "models", "seeds"))
            if not isinstance(value.get("data"), str):
                raise self._error(f"must name the binarised data of {where}")
            for model in self._chosen(value, "model", models, where):
                own_seeds = self._seeds(value["seeds"], where) if "seeds" in value else seeds
                for turn, seed in enumerate(own_seeds):
                    run = Run(
                        condition,
                        model,
                        seed,
                        folder / value["data"],
                        [*common, *models[model], f"common.seed={seed}"],
                        folder / "runs" / slug(condition) / slug(model) / f"seed{seed}",
                    )
                    turns.append((turn, run))
        # First each row with one seed, so that a table which is interrupted has all its rows.
        runs = [run for _, run in sorted(turns, key=lambda pair: pair[0])]
        self._check_folders(runs)
        measurements = []
        for name, value in self._mapping(content["measurements"], "measurements").items():
            found = self._measurement(name, value, models, conditions)
            found.command.extend(arguments.get(name, []))
            measurements.append(found)
        return Specification(heading, runs, measurements)

    def _scale(self, content: Dict[str, Any], scale: str) -> Dict[str, Any]:
        """What the file says of a scale; nothing if it says nothing of any."""
        if "scales" not in content:
            return {}
        scales = self._mapping(content["scales"], "scales")
        if scale not in scales:
            raise self._error(f"has no scale {scale!r} under 'scales', only {', '.join(scales)}")
        return self._mapping(scales[scale], f"the scale {scale!r}", _PARTS_OF_A_SCALE)

    def _more(
        self, own: Dict[str, Any], part: str, scale: str, known: Mapping[str, Any]
    ) -> Dict[str, List[str]]:
        """Words that a scale adds to those of models or measurements."""
        if part not in own:
            return {}
        where = f"{part} of the scale {scale!r}"
        self._mapping(own[part], where, tuple(map(str, known)))
        return self._lists(own[part], f"{where} at", where)

    def _lists(self, value: Any, of: str, where: str) -> Dict[str, List[str]]:
        """A mapping of names to lists of words."""
        return {
            name: self._strings(words, f"{of} {name!r}")
            for name, words in self._mapping(value, where).items()
        }

    def _measurement(
        self, name: str, value: Any, models: Dict[str, Any], conditions: Dict[str, Any]
    ) -> Measurement:
        where = f"the measurement {name!r}"
        value = self._mapping(value, where, ("command", "models", "conditions", "columns"))
        command: List[str] = []
        if slug(name) != name:
            raise self._error(f"names {where}, but names of files have no such characters")
        if name != TRAINING:
            command = self._strings(value.get("command"), f"the command of {where}")
            if not command:
                raise self._error(f"must give {where} a command")
        columns = []
        for title, path in self._mapping(value.get("columns"), f"the columns of {where}").items():
            share = not isinstance(path, dict)
            path = path if share else path.get("number")
            if not isinstance(path, str):
                raise self._error(
                    f"must say by PATH or {{number: PATH}} what the column {title!r} shows"
                )
            columns.append(Column(title, path, share))
        return Measurement(
            name,
            command,
            self._chosen(value, "model", models, where),
            self._chosen(value, "condition", conditions, where),
            columns,
        )

    def _chosen(
        self, value: Dict[str, Any], kind: str, known: Mapping[str, Any], where: str
    ) -> List[str]:
        """The models or conditions that something is meant for, by default all."""
        if f"{kind}s" not in value:
            return list(known)
        wanted = self._strings(value[f"{kind}s"], f"the {kind}s of {where}")
        for name in wanted:
            if name not in known:
                raise self._error(
                    f"asks in {where} for the {kind} {name!r}, which is not under '{kind}s'"
                )
        return list(dict.fromkeys(wanted))

    def _seeds(self, value: Any, where: str) -> List[int]:
        if not (isinstance(value, list) and value and all(type(seed) is int for seed in value)):
            raise self._error(f"must have a list of numbers as the seeds of {where}")
        return list(dict.fromkeys(value))

    def _strings(self, value: Any, where: str) -> List[str]:
        """A list of words; numbers among them are words that YAML takes for numbers."""
        if not isinstance(value, list) or not all(
            isinstance(word, (str, int, float)) and not isinstance(word, bool) for word in value
        ):
            raise self._error(f"must have a list of words as {where}")
        return [str(word) for word in value]

    def _mapping(self, value: Any, where: str, known: Any = None) -> Dict[str, Any]:
        if not isinstance(value, dict) or not value:
            raise self._error(f"must have a mapping as {where}")
        for name in value:
            if known is not None and str(name) not in known:
                raise self._error(f"has {name!r} in {where}, where only {', '.join(known)} can be")
        return {str(name): part for name, part in value.items()}

    def _check_folders(self, runs: List[Run]) -> None:
        """Refuses names that differ only in what the name of a folder cannot have."""
        owners: Dict[Path, Run] = {}
        for run in runs:
            other = owners.setdefault(run.folder, run)
            if (other.condition, other.model) != (run.condition, run.model):
                raise self._error(
                    f"has {other.name!r} and {run.name!r}, which would share a folder; rename one"
                )

    def _error(self, fault: str) -> UserError:
        return UserError(f"{self._path} {fault}.")


def slug(name: str) -> str:
    """A name that is good for a folder."""
    return "".join(c if c.isalnum() or c in "-_." else "_" for c in name)
