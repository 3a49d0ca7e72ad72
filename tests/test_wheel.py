"""A source distribution of the repository becomes a wheel. It is installed elsewhere with what its
metadata ask for, and used from another folder."""

import os
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from importlib.metadata import distribution
from pathlib import Path
from typing import Callable, Dict

import pytest
from command_line import IN_PROCESS, ROOT, UNVALIDATED

from sit_fairseq.domains import find, names
from sit_fairseq.errors import EXTRAS

DOMAINS = [*map(find, names())]  # which name their extras

MODEL = ROOT / "checkpoints" / "prop" / "model.pt"
OPTIONS = [
    *("--task", "stream_translation", "--symbols", "[a-z]", "--criterion", "adacos"),
    *("--arch", "symbol_invariant_transformer_tiny", "--optimizer", "adam", "--max-update", 1),
    *("--batch-size", 8, *IN_PROCESS, *UNVALIDATED),
]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """The wheel of the source distribution of a copy of the repository, as building leaves files
    behind."""
    source, built = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    hidden = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for name in ("sit_fairseq", "checkpoints"):
        shutil.copytree(ROOT / name, source / name, ignore=hidden)
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    make = "import sys; from setuptools.build_meta import build_sdist; build_sdist(sys.argv[1])"
    subprocess.run([sys.executable, "-c", make, built], cwd=source, check=True, capture_output=True)
    options = ("--no-deps", "--no-build-isolation", "--no-index", "--quiet", "--wheel-dir", built)
    (archive,) = built.glob("*.tar.gz")
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options, archive], check=True)
    return next(built.glob("*.whl"))


def with_dependencies(name: str, known: Dict[str, Path]) -> Dict[str, Path]:
    """Adds the files and folders in site-packages of a package and of all that it needs."""
    package = distribution(name)
    places = {Path(file).parts[0] for file in package.files} - {"..", "__pycache__"}
    if not places <= set(known):
        known.update({place: package.locate_file(place) for place in places})
        for line in package.requires or ():
            if "extra ==" not in line:
                with_dependencies(re.match(r"[\w.-]+", line)[0], known)
    return known


class Environment:
    """A virtual environment that has torch and what torch needs from the one of the tests, and
    nothing else of it."""

    def __init__(self, make_folder: Callable[[str], Path]) -> None:
        self.root, self.folder = make_folder("environment"), make_folder("elsewhere")
        venv.create(self.root, with_pip=False)
        shared = make_folder("shared")
        for name, path in with_dependencies("torch", {}).items():
            (shared / name).symlink_to(path)
        (site_packages,) = self.root.glob("lib/python*/site-packages")
        (site_packages / "torch.pth").write_text(f"{shared}\n")
        hidden = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
        self.variables = {name: os.environ[name] for name in os.environ if name not in hidden}

    def install(self, *arguments, **variables: str) -> None:
        pip = (sys.executable, "-m", "pip", "--python", self.root / "bin" / "python", "install")
        subprocess.run(
            [*pip, "--quiet", "--no-compile", *arguments],
            env={**self.variables, **variables},
            check=True,
        )

    def run(self, program: str, *arguments) -> subprocess.CompletedProcess:
        return subprocess.run(
            [self.root / "bin" / program, *map(str, arguments)],
            **dict(
                cwd=self.folder, env=self.variables, capture_output=True, text=True, timeout=300
            ),
        )

    def call(self, program: str, *arguments) -> str:
        """What the program prints; its status must be 0."""
        result = self.run(program, *arguments)
        assert result.returncode == 0, result.stderr
        return result.stdout


@pytest.fixture(scope="module")
def elsewhere(wheel, tmp_path_factory) -> Environment:
    """Has the wheel with its extra ``ltl``."""
    environment = Environment(tmp_path_factory.mktemp)
    environment.install(f"{wheel}[ltl]")
    return environment


def test_every_module_is_in_the_wheel(wheel):
    inside = {name for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".py")}
    assert inside == {str(path.relative_to(ROOT)) for path in ROOT.glob("sit_fairseq/**/*.py")}


def test_no_trainer_is_installed(elsewhere):
    find = "import importlib.util as u, sys; print([n for n in sys.argv[1:] if u.find_spec(n)])"
    packages = [name for extra in set(EXTRAS) - {"ltl"} for name in EXTRAS[extra]]
    assert elsewhere.call("python", "-c", find, *packages, "spot") == "['spot']\n"


def test_data_are_made_judged_measured_and_answered(elsewhere, tmp_path):
    elsewhere.call("sit", "init", tmp_path / "task")
    elsewhere.call("sit", "generate", "ltl", tmp_path / "x", "--size", 5, "--max-length", 9)
    files = (tmp_path / "x.src", tmp_path / "x.tgt")
    verdicts = elsewhere.call("sit", "judge", "ltl", *files).split("\n")
    assert verdicts[:5] == ["satisfied"] * 5
    model = shutil.copy(ROOT / "checkpoints" / "ltl" / "model.pt", tmp_path)
    asked = ("--path", model, "--result", tmp_path / "result.json")
    assert "correct" in elsewhere.call("sit", "evaluate", "ltl", tmp_path / "x", *asked)
    answer = elsewhere.call("sit", "answer", "ltl", "!close U open")
    assert answer == "open; then for ever: anything\n"


def test_a_model_is_exported(elsewhere, tmp_path):
    assert "model.pt: " in elsewhere.call("sit", "export", MODEL, tmp_path / "small")
    asked = ("--path", tmp_path / "small" / "model.pt")
    assert elsewhere.call("sit", "answer", "prop", "go & !stop", *asked) == "go & !stop\n"


@pytest.mark.parametrize(
    "package, words", [("fairseq", ["options"]), ("onnx", ["export", MODEL, "out", "--onnx"])]
)
def test_a_package_that_is_missing_is_named_with_its_extra(elsewhere, package, words):
    (extra,) = [extra for extra, names in EXTRAS.items() if package in names]
    result = elsewhere.run("sit", *words)
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"this needs {package}: ") and line.endswith(
        f"'.[{extra}]' in the clone"
    )
    assert result.returncode == 1


def test_fairseq_trains_where_it_is_installed_as_the_error_says(wheel, tmp_path_factory, tmp_path):
    elsewhere = Environment(tmp_path_factory.mktemp)
    elsewhere.install(wheel)
    line = elsewhere.run("sit", "options").stderr
    variable, options = re.search(r": (\w+=1) pip install (.*) '\.\[fairseq\]'", line).groups()
    elsewhere.install(*options.split(), f"{wheel}[fairseq]", **dict([variable.split("=")]))
    user_dir = elsewhere.call("sit", "--user-dir").strip()
    assert Path(user_dir) != ROOT / "sit_fairseq"
    for side, line in (("src", "& a ! b"), ("tgt", "a 1 b 0")):
        (tmp_path / f"x.{side}").write_text(f"{line}\n" * 8)
    files = ("-s", "src", "-t", "tgt", "--trainpref", tmp_path / "x", "--destdir", tmp_path / "bin")
    elsewhere.call("fairseq-preprocess", *files, "--joined-dictionary")
    task = (tmp_path / "bin", "--user-dir", user_dir)
    elsewhere.call("fairseq-train", *task, "--save-dir", tmp_path / "model", *OPTIONS)
    assert (tmp_path / "model" / "checkpoint_last.pt").is_file()
