"""What the package imports from others, beside what its metadata ask for."""

import ast
import re
import sys
from importlib.metadata import metadata, requires
from typing import Iterator

import pytest
from conftest import PACKAGE

from sit_fairseq.domains import find, names
from sit_fairseq.errors import EXTRAS, UserError, missing

DOMAINS = [*map(find, names())]  # which name their extras

# Exported folders bring their own code for transformers, and nothing here imports it.
OF_OTHERS = {"transformers"}


def imported() -> Iterator[str]:
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [node.module]
            yield from (name.split(".")[0] for name in names)


def test_every_import_is_of_a_package_that_the_metadata_name():
    core = {re.match(r"\w+", line)[0] for line in requires("sit_fairseq") if "extra ==" not in line}
    optional = {package for packages in EXTRAS.values() for package in packages}
    others = set(imported()) - sys.stdlib_module_names - {"sit_fairseq"} - OF_OTHERS
    assert others - optional == core
    assert set(EXTRAS) <= set(metadata("sit_fairseq").get_all("Provides-Extra"))


@pytest.mark.parametrize(
    "package, told",
    [
        ("matplotlib", r"this needs matplotlib: pip install '\.\[plots\]' in the clone"),
        ("omegaconf.errors", r"this needs fairseq: .* pip install .* '\.\[fairseq\]' in the clone"),
    ],
)
def test_a_package_that_is_missing_is_named_with_its_extra(package, told):
    error = missing(ModuleNotFoundError(name=package))
    assert isinstance(error, UserError) and re.fullmatch(told, str(error))


def test_an_import_of_what_no_extra_brings_fails_as_it_is():
    for error in (ModuleNotFoundError(name="unknown"), ModuleNotFoundError()):
        assert missing(error) is error
