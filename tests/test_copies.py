"""A process uses one copy of the package, and says so."""

import shutil
import subprocess
import sys
from argparse import Namespace
from pathlib import Path
from types import SimpleNamespace

import pytest
from command_line import ROOT, sit
from fairseq import utils

from sit_fairseq import copies
from sit_fairseq.errors import UserError
from sit_fairseq.judging import workers


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    """A folder with another copy of the package."""
    folder = tmp_path_factory.mktemp("clone")
    shutil.copytree(ROOT / "sit_fairseq", folder / "sit_fairseq")
    return folder


def refused(whose, other):
    words = f"uses the package in {ROOT / 'sit_fairseq'}, but {whose} another copy, {other}"
    return pytest.raises(UserError, match=words)


def test_a_command_beside_another_copy_is_refused(other, monkeypatch, tmp_path):
    rename = ("rename", "x", tmp_path / "y", "--symbols", "a", "--names", "a")
    monkeypatch.chdir(other)
    with refused("the current folder holds", other):
        sit(*rename)
    monkeypatch.chdir(ROOT)
    with pytest.raises(UserError, match="Cannot read x.src"):
        sit(*rename)


def test_a_user_dir_of_another_copy_is_refused(other, tmp_path):
    with refused("--user-dir names", other):
        utils.import_user_module(Namespace(user_dir=str(other / "sit_fairseq")))
    utils.import_user_module(Namespace(user_dir=str(ROOT / "sit_fairseq")))
    plug_in = tmp_path / "another_plug_in"
    plug_in.mkdir()
    (plug_in / "__init__.py").write_text("")
    utils.import_user_module(Namespace(user_dir=str(plug_in)))
    assert Path(sys.modules["another_plug_in"].__file__).parent == plug_in


def test_worker_processes_of_another_copy_are_refused(other):
    """The process has a copy by its path, and the server of its workers that of the folder."""
    program = (
        "import sys; sys.path[0] = sys.argv[1]\n"
        "from sit_fairseq.judging.workers import WorkerPool\n"
        "with WorkerPool(len, 1, 60.0, 1.0) as pool: pool.start()\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", program, str(ROOT)], cwd=other, capture_output=True, text=True
    )
    assert result.returncode == 1
    last = result.stderr.strip().splitlines()[-1]
    assert "its worker processes have found" in last and str(other) in last


def test_workers_say_which_copy_they_use(monkeypatch, other):
    worker = SimpleNamespace(connection=SimpleNamespace(recv=lambda: str(other / "sit_fairseq")))
    with refused("its worker processes have found", other):
        workers._Worker.await_ready(worker)


def test_the_copy_is_logged_once(caplog):
    copies.log_copy.cache_clear()
    with caplog.at_level("INFO"):
        copies.log_copy()
        copies.log_copy()
    assert caplog.messages == [f"using the package in {ROOT / 'sit_fairseq'}"]
