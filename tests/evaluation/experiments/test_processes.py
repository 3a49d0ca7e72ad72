"""Commands that experiments run."""

import os
import signal
import subprocess
import sys
import time

import pytest
from command_line import ROOT
from conftest import gone

from sit_fairseq.evaluation.experiments.processes import Processes


@pytest.mark.parametrize("name", ["SIGTERM", "SIGKILL", "SIGINT"])
def test_commands_end_with_the_process_that_asked_for_them(tmp_path, name):
    log = tmp_path / "log"
    program = (
        "import os, pathlib, signal, sys, types\n"
        "from concurrent.futures import ThreadPoolExecutor\n"
        # A shell starts what runs in the background deaf to it.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from sit_fairseq.evaluation.experiments.processes import Processes\n"
        "processes = Processes(pathlib.Path('.'), os.environ)\n"
        "words = ['-c', 'import os, time; print(os.getpid(), flush=True); time.sleep(600)']\n"
        "with ThreadPoolExecutor(1) as executor:\n"
        f"    future = executor.submit(processes.call, {str(log)!r}, sys.executable, *words)\n"
        "    try:\n        future.result()\n    finally:\n        processes.stop()\n"
    )
    runner = subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, stderr=subprocess.DEVNULL)
    try:
        while not (log.exists() and log.read_text().endswith("\n")):
            assert runner.poll() is None
            time.sleep(0.05)
        runner.send_signal(getattr(signal, name))
        runner.wait(30)
        assert gone(int(log.read_text()))
    finally:
        runner.kill()
        runner.wait()


def test_a_command_that_fails_names_its_log(tmp_path):
    commands = Processes(tmp_path, os.environ)
    failing = (sys.executable, "-S", "-c", "print('why', flush=True); raise SystemExit(3)")
    with pytest.raises(subprocess.CalledProcessError) as error:
        commands.call(tmp_path / "log", *failing)
    assert (error.value.returncode, error.value.output) == (3, str(tmp_path / "log"))
    assert (tmp_path / "log").read_text() == "why\n"
    commands.stop()
    with pytest.raises(subprocess.CalledProcessError):
        commands.call(tmp_path / "log", sys.executable, "-c", "print('never')")
    assert (tmp_path / "log").read_text() == "why\n"
