"""A source distribution of the repository becomes a wheel, which is installed elsewhere and used from
another folder."""

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest
from command_line import IN_PROCESS, ROOT, UNVALIDATED

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
    (distribution,) = built.glob("*.tar.gz")
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options, distribution], check=True)
    return next(built.glob("*.whl"))


@pytest.fixture(scope="module")
def elsewhere(wheel, tmp_path_factory):
    """Runs a program of an environment that has the wheel and the packages of this one, but not
    the repository: what a ``.pth`` file names is not searched for others."""
    root = tmp_path_factory.mktemp("environment")
    venv.create(root, with_pip=False)
    python = root / "bin" / "python"
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    (root / "lib" / version / "site-packages" / "this.pth").write_text(
        sysconfig.get_path("purelib") + "\n"
    )
    pip = (sys.executable, "-m", "pip", "--python", python)
    subprocess.run([*pip, "install", "--no-deps", "--no-index", "--quiet", wheel], check=True)
    folder = tmp_path_factory.mktemp("elsewhere")
    environment = {name: os.environ[name] for name in os.environ if name != "PYTHONPATH"}

    def call(program: str, *arguments) -> str:
        command = [root / "bin" / program, *map(str, arguments)]
        result = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300
        )
        assert result.returncode == 0, result.stderr
        return result.stdout

    return call


def test_every_module_is_in_the_wheel(wheel):
    inside = {name for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".py")}
    assert inside == {str(path.relative_to(ROOT)) for path in ROOT.glob("sit_fairseq/**/*.py")}


def test_formulas_are_answered_elsewhere(elsewhere):
    assert elsewhere("sit", "answer", "prop", "go & !stop") == "go & !stop\n"


def test_data_are_made_judged_and_measured_elsewhere(elsewhere, tmp_path):
    elsewhere("sit", "generate", "prop", tmp_path / "x", "--size", 5, "--max-length", 9)
    files = (tmp_path / "x.src", tmp_path / "x.tgt")
    verdicts = elsewhere("sit", "judge", "--semantics", "prop", *files).split("\n")
    assert verdicts[:5] == ["satisfied"] * 5
    model = shutil.copy(ROOT / "checkpoints" / "prop" / "model.pt", tmp_path)
    asked = ("--semantics", "prop", "--path", model, "--result", tmp_path / "result.json")
    assert "correct" in elsewhere("sit", "evaluate", "correct", tmp_path / "x", *asked)


def test_fairseq_trains_elsewhere(elsewhere, tmp_path):
    where = "import os, sit_fairseq; print(os.path.dirname(sit_fairseq.__file__))"
    user_dir = elsewhere("python", "-c", where).strip()
    assert Path(user_dir) != ROOT / "sit_fairseq"
    for side, line in (("src", "& a ! b"), ("tgt", "a 1 b 0")):
        (tmp_path / f"x.{side}").write_text(f"{line}\n" * 8)
    files = ("-s", "src", "-t", "tgt", "--trainpref", tmp_path / "x", "--destdir", tmp_path / "bin")
    elsewhere("python", "-m", "fairseq_cli.preprocess", *files, "--joined-dictionary")
    training = (tmp_path / "bin", "--user-dir", user_dir, "--save-dir", tmp_path / "model")
    elsewhere("python", "-m", "fairseq_cli.train", *training, *OPTIONS)
    assert (tmp_path / "model" / "checkpoint_last.pt").exists()
