"""What verdicts depend on changes the signature of their judge, and nothing else does."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import needs_spot

from sit_fairseq.domains import find, names
from sit_fairseq.domains.by_name import make_judge

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
def folder(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def say(folder, expression):
    """The value of an expression in a process that begins in a folder."""
    program = f"from sit_fairseq.domains import by_name as judge; from sit_fairseq.judging import signature; print({expression})"
    command = [sys.executable, "-B", "-c", program]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


def test_what_a_judge_imports_from_beside_it_counts(folder):
    files, distributions = ast.literal_eval(
        say(folder, "[list(map(str, found)) for found in signature.code_of('mine')]")
    )
    own = {str(Path(path).relative_to(folder.resolve())) for path in files}
    assert own == {*FILES} - {"package/apart.py", "stranger.py"} and distributions == ["torch"]


def test_an_edit_changes_the_signature(folder):
    ask = "judge.make_judge('mine:Mine').signature()"
    before = say(folder, ask)
    assert before == say(folder, ask) and "torch:" in before and "mine:Mine" in before
    (folder / "package" / "deep" / "down.py").write_text("x = 2\n")
    assert say(folder, ask) != before


@pytest.mark.parametrize("domain", map(find, names()), ids=names())
def test_every_judge_has_one(domain):
    for name in domain.judges:
        first = domain.judge(name).signature()
        assert first.startswith(f"{domain.alias or domain.name}|judge:{name}|code:")
        assert first == make_judge(domain.name, name).signature()


@needs_spot
def test_the_version_of_spot_is_named():
    assert make_judge("ltl").signature().endswith(f"|spot:{make_judge('ltl').versions()['spot']}")
