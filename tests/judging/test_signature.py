"""What verdicts depend on changes the signature of their judge, and nothing else does."""

import subprocess
import sys

import pytest
from conftest import needs_spot

from sit_fairseq.judging.judge import JUDGES, make_judge
from sit_fairseq.judging.signature import code_of
from sit_fairseq.judging.spot_judge import spot_version

FILES = {
    "mine.py": "import os\nimport torch\nfrom package import part\n"
    "from sit_fairseq.judging.judge import Judge\n\n"
    "class Mine(Judge):\n    def verify(self, problem, answer):\n        import beside\n",
    "beside.py": "",
    "package/__init__.py": "",
    "package/part.py": "from . import other\nfrom .deep.down import x\n",
    "package/other.py": "import mine\n",
    "package/deep/down.py": "x = 1\n",
    "package/apart.py": "",
    "stranger.py": "",
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def signature(folder):
    program = (
        "from sit_fairseq.judging.judge import make_judge; "
        "print(make_judge('mine:Mine').signature())"
    )
    command = [sys.executable, "-B", "-c", program]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("name, counts", [(n, n not in ("package/apart.py", "stranger.py")) for n in FILES])
def test_what_a_judge_imports_from_beside_it_counts(folder, monkeypatch, name, counts):
    monkeypatch.syspath_prepend(folder)
    files, distributions = code_of("mine")
    assert (folder / name in files) is counts and distributions == ["torch"]


def test_an_edit_changes_the_signature(folder):
    before = signature(folder)
    assert before == signature(folder) and "torch:" in before and "mine:Mine" in before
    (folder / "package" / "deep" / "down.py").write_text("x = 2\n")
    assert signature(folder) != before


@pytest.mark.parametrize("semantics", JUDGES)
def test_every_judge_has_one(semantics):
    for name in JUDGES[semantics]:
        first = make_judge(semantics, name).signature()
        assert first.startswith(f"{semantics}|judge:{name}|code:")
        assert first == make_judge(semantics, name).signature()


@needs_spot
def test_the_version_of_spot_is_named():
    assert make_judge("ltl").signature().endswith(f"|spot:{spot_version()}")
