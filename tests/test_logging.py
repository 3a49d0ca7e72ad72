"""What the package logs when nobody has said what to log."""

import os
import subprocess
import sys

import pytest


@pytest.mark.parametrize("first", ["sit_fairseq", "fairseq.models"])
@pytest.mark.parametrize("wanted, level", [(None, 20), ("DEBUG", 10)])
def test_level(first, wanted, level):
    environment = {name: value for name, value in os.environ.items() if name != "LOGLEVEL"}
    if wanted is not None:
        environment["LOGLEVEL"] = wanted
    code = f"import logging, {first}, sit_fairseq; print(logging.getLogger().level)"
    command = [sys.executable, "-W", "ignore", "-c", code]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert int(result.stdout.split()[-1]) == level
