"""A folder for a domain of one's own: from nothing to a table, at a tiny size."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import ROOT, sit
from conftest import make_dictionary, make_model

from sit_fairseq.errors import UserError
from sit_fairseq.model import Model


def test_from_nothing_to_a_table(tmp_path, capsys, monkeypatch):
    folder = tmp_path / "my domain"
    sit("init", folder)
    assert capsys.readouterr().out.startswith(f"bash {folder}/run.sh trains a toy")
    assert sorted(path.name for path in folder.iterdir()) == ["README.md", "domain.py", "run.sh"]
    text = (folder / "run.sh").read_text()
    assert len(text.splitlines()) <= 25
    for old, new in (("20000", "300"), ("500", "9"), ("200 ", "9 "), ("update 800", "update 3")):
        assert old in text
        text = text.replace(old, new)
    (folder / "run.sh").write_text(text)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore"}
    command = ["bash", folder / "run.sh", "made"]
    result = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    *table, _, signature = result.stdout.splitlines()
    assert [row for row in table if row.startswith("| all ") and " | 9 " in row]
    assert signature.startswith("owners@1|judge:owners|code:")
    monkeypatch.chdir(folder)
    files = ("made/train.src", "made/train.tgt")
    symbols = ("--symbols", "person=P[0-9]+", "thing=t[0-9]+")
    sit("judge", "domain:DOMAIN", *files, "--constrained", "domain:DOMAIN", *symbols)
    printed = capsys.readouterr().out
    assert "300/300 correct" in printed and "refuses 0 of 300" in printed


def test_a_model_of_the_domain_is_asked(tmp_path, capsys, monkeypatch):
    """It has sorts; its grammar is that of the domain, which the command line names."""
    sit("init", tmp_path / "own")
    capsys.readouterr()
    monkeypatch.chdir(tmp_path / "own")
    words, symbols = "has lost gave to and , of nothing", "person=P[0-9]+\nthing=t[0-9]+"
    dictionary = make_dictionary(["P3", "t7"], words.split(), symbols)
    ropes = {"encoder_positions": "rope", "decoder_positions": "rope"}
    Model([make_model(dictionary, **ropes)], "domain:DOMAIN").save("m.pt")
    with pytest.raises(SystemExit):
        sit("answer", "domain:DOMAIN", "P3 lost t7", "P3 has +", "--path", "m.pt", "--json")
    lost, other = map(json.loads, capsys.readouterr().out.splitlines())
    assert lost["source"] == "P3 lost t7" and lost["names"] == {"P3": "P3", "t7": "t7"}
    assert (lost["status"], lost["text"]) == ("verified", "nothing")
    assert other["status"] == "cannot be answered" and "'+'" in other["reason"]
    with pytest.raises(UserError, match="'domain:DOMAIN' is not of the package"):
        Model.load("m.pt").answer(["P3 lost t7"], constrained=True)
    Path("x.src").write_text("P3 lost t7\nP1 gave t4 to P2\n")
    Path("x.tgt").write_text("nothing\nt4 of P2\n")
    sit("evaluate", "domain:DOMAIN", "x", "--path", "m.pt", "--constrained", "--result", "x.json")
    kept = [json.loads(line) for line in Path("x.answers.jsonl").read_text().splitlines()[1:]]
    parts = r"nothing|t\d of P\d( , t\d of P\d)*"
    assert len(kept) == 2 and all(re.fullmatch(parts, one["answers"][0]) for one in kept)


def test_a_folder_that_exists_is_left_alone(tmp_path):
    with pytest.raises(UserError, match="exists; name a new folder"):
        sit("init", tmp_path)
    assert not list(tmp_path.iterdir())
