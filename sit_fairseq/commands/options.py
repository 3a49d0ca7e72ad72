"""Prints the options that the package adds to fairseq's commands.

    sit options

lists the options of the task, the model with its named architectures, the criterion, the optimizers
and the scorer, each with its default. fairseq's own --help does not show them.
"""

import argparse
import textwrap
from dataclasses import Field, fields
from typing import Any, List

_WIDTH = 100


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds no option."""


def main(args: argparse.Namespace) -> None:
    from fairseq.models import (
        ARCH_CONFIG_REGISTRY,
        ARCH_MODEL_NAME_REGISTRY,
        MODEL_DATACLASS_REGISTRY,
    )
    from fairseq.registry import REGISTRIES
    from fairseq.tasks import TASK_DATACLASS_REGISTRY

    from sit_fairseq.models import (  # noqa: F401  register all
        fairseq_adapter,
        fairseq_language_model,
    )

    registries = {
        "task": TASK_DATACLASS_REGISTRY,
        "arch": MODEL_DATACLASS_REGISTRY,
        **{kind: registry["dataclass_registry"] for kind, registry in REGISTRIES.items()},
    }
    for kind, classes in registries.items():
        for name, dataclass in classes.items():
            if _is_ours(dataclass):
                print(_flag(kind), name)
                for option in _own_fields(dataclass):
                    print(_described(option))
                print()
    print("named architectures, and the defaults in which they differ")
    for name, model in ARCH_MODEL_NAME_REGISTRY.items():
        if name != model and _is_ours(MODEL_DATACLASS_REGISTRY.get(model)):
            given = argparse.Namespace()
            ARCH_CONFIG_REGISTRY[name](given)
            differences = (
                _flag(option) if value is True else f"{_flag(option)} {value}"
                for option, value in vars(given).items()
            )
            print(_wrapped(f"--arch {name}", " ".join(differences)))


def _is_ours(cls: Any) -> bool:
    return getattr(cls, "__module__", "").split(".")[0] == "sit_fairseq"


def _own_fields(dataclass: type) -> List[Field]:
    """The options of a dataclass without those of fairseq's and of other sections."""
    own = {
        name
        for base in dataclass.__mro__
        if _is_ours(base)
        for name in vars(base).get("__annotations__", {})
    }
    return [option for option in fields(dataclass) if option.name in own and option.metadata]


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _described(option: Field) -> str:
    default = option.default
    if isinstance(default, str) and default.startswith("${"):  # of another option
        text = f" (default: that of {_flag(default[2:-1].split('.')[-1])})"
    elif default is None or isinstance(default, bool):
        text = ""
    else:
        text = f" (default: {getattr(default, 'value', default)})"
    return _wrapped(_flag(option.name), option.metadata["help"] + text)


def _wrapped(head: str, text: str) -> str:
    lines = textwrap.wrap(text, _WIDTH - 6, break_on_hyphens=False, break_long_words=False)
    return "\n".join([f"  {head}", *(f"      {line}" for line in lines)])
