"""What is meant for a GPU, on a pretended one: the tests in ``tests/device``.

They have a process of their own, since PyTorch learns of a device once and for all.
"""

import subprocess
import sys

import pytest
from command_line import ROOT


def test_tests_of_the_device_pass():
    command = [sys.executable, "-m", "pytest", "tests/device", "-p", "no:cacheprovider"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if run.returncode:
        pytest.fail(run.stdout[-8000:] + run.stderr[-2000:], pytrace=False)
