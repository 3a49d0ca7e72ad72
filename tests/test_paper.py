"""The runner of the paper's tables: every step once, at a size at which figures mean nothing."""

import contextlib
import functools
import logging
import os
import re
import shlex
import subprocess
import sys
from unittest import mock

import pytest
from command_line import ROOT, hydra_train, run, run_preprocess, sit
from fairseq_cli import generate, train

from examples.paper import figures
from examples.paper import pace as PACE
from examples.paper import run as PAPER
from examples.paper import runs
from examples.paper.tables import make_runs
from sit_fairseq.errors import UserError

PATH = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])


def in_process(folder, words) -> None:
    """Does in this process what commands do, which would be seconds for each import of fairseq."""
    with contextlib.chdir(folder), mock.patch.object(sys, "argv", ["sit", *words[1:]]):
        if words[0] == "fairseq-hydra-train":
            # Neither the handler below taken away, nor files of the training before written on.
            writers = mock.patch("fairseq.logging.progress_bar._tensorboard_writers", {})
            with mock.patch("logging.config.dictConfig"), writers:
                hydra_train(*words[1:])
        elif words[0] == "fairseq-preprocess":
            run_preprocess(*words[1:])
        elif words[0] in ("fairseq-train", "fairseq-generate"):
            run({"train": train, "generate": generate}[words[0][8:]], *words[1:], "--cpu")
        else:
            sit(*words[1:])


class LogFile(logging.FileHandler):
    """What a command prints in the form that hydra gives it."""

    def __init__(self, path):
        super().__init__(path)
        self.setFormatter(logging.Formatter("[%(asctime)s][%(name)s][%(levelname)s] - %(message)s"))


def call(self, log, words, see):
    """In place of the runner's own: a training or a measurement in this process."""
    handler, root = LogFile(log), logging.getLogger()
    root.addHandler(handler)
    level = root.level
    root.setLevel(logging.INFO)
    try:
        name = words[0].rpartition("/")[2]
        in_process(self._folder, [name, *words[1:]] if "hydra" in name else words[2:])
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
    return 60.0


def command(self, *words, **options):
    """In place of the runner's own: a line of a step in this process, if it is no shell's."""
    line, _, out = words[-1].partition(" >")
    if words[0] == "bash" and line.split()[0] not in ("sit", "fairseq-train", "fairseq-generate"):
        subprocess.run(
            words,
            cwd=self.out,
            env={**os.environ, "PATH": PATH, "PYTHONPATH": str(ROOT)},
            check=True,
        )
        return
    with contextlib.ExitStack() as redirected:
        if words[0] == "bash" and out:
            file = redirected.enter_context(open(self.out / out, "w"))
            redirected.enter_context(contextlib.redirect_stdout(file))
        in_process(self.out, shlex.split(line) if words[0] == "bash" else words)


def one_of_each_kind(table, folder):
    """One run for each set of measurements; the configurations of all have a test of their own."""
    kinds = {}
    for run in make_runs(table, folder):
        meant = [name for name, measured in table.measurements.items() if measured.of(run)]
        kinds[run.checkpoint, *meant] = run
    return list(kinds.values())


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    return tmp_path_factory.mktemp("paper")


@pytest.fixture
def carry_out(outputs, monkeypatch, capsys):
    """Carries out a step and returns its table; the steps of a task share their data."""
    monkeypatch.setattr(runs.Runner, "_call", call)
    monkeypatch.setattr(runs, "make_runs", one_of_each_kind)
    monkeypatch.setattr(PAPER.Paper, "_call", command)

    def carry_out(task, step, *words, scale="tiny"):
        out = outputs / f"{task}, (a=1) ~"  # which shells and hydra's command line would not take
        monkeypatch.setattr(
            sys, "argv", ["run.py", task, scale, step, *words, "--jobs", "1", "--out", str(out)]
        )
        PAPER.main()
        return out, capsys.readouterr().out

    return carry_out


# One of each kind: the logics and the places share their steps.
STEPS = {"prop": ["results", "refine", "figures"], "copying": ["shipped"], "conversion": ["model"]}


@pytest.mark.parametrize("task, step", [(task, step) for task in STEPS for step in STEPS[task]])
def test_every_table_can_be_made(carry_out, task, step):
    out, printed = carry_out(task, step)
    table = re.findall(r"^\|.*\|$", printed, re.MULTILINE)
    assert len(table) > 2 and "FAILED" not in printed
    names = [
        line.split()[1]
        for line in PAPER.read_task(task, "tiny", [], out)["steps"][step]
        if line.startswith("table ")
    ]
    for name in names:
        rows = (out / f"{name}.md").read_text().splitlines()[2:]
        cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
        assert rows and all(any(cell != "—" for cell in row[2:]) or len(row) == 2 for row in cells)
    if step == "figures":
        figures.main(str(out / "maps.png"), *map(str, out.glob("runs/*/*/*/heat_map.json")))
        assert list(out.glob("runs/*/*/*/heat_map.png")) and (out / "maps.png").is_file()
    if (task, step) == ("prop", "results"):
        assert (out / "imbalance.png").is_file()
    if step == "shipped":  # the model itself is no trifle
        assert float(cells[0][2].removesuffix(" %")) > 80


def test_a_command_that_is_done_again_has_the_later_ones_follow(tmp_path):
    task = {"steps": {"all": ["first", "echo b >>said"], "first": ["echo a >>said"]}}
    journal = mock.Mock(entries=[{"line": "echo b >>said"}])
    PAPER.Paper(task, tmp_path, journal).step("all")
    assert (tmp_path / "said").read_text() == "a\nb\n"
    journal.entries = [call.args[0] for call in journal.append.call_args_list]
    PAPER.Paper(task, tmp_path, journal).step("all")
    assert (tmp_path / "said").read_text() == "a\nb\n"


def test_commands_of_later_steps_follow_too(tmp_path):
    task = {
        "steps": {
            "all": ["first", "second"],
            "first": ["echo a >>said"],
            "second": ["echo b >>said"],
        }
    }
    journal = mock.Mock(entries=[{"line": "echo b >>said"}])
    PAPER.Paper(task, tmp_path, journal).step("all")
    assert (tmp_path / "said").read_text() == "a\nb\n"


def test_a_command_that_fails_is_not_done(tmp_path):
    journal = mock.Mock(entries=[])
    task = {"steps": {"all": ["true", "false | true", "touch later"]}}
    with pytest.raises(UserError, match="the same command goes on"):
        PAPER.Paper(task, tmp_path, journal).step("all")
    journal.append.assert_called_once_with({"line": "true"})
    assert not (tmp_path / "later").exists()


@pytest.mark.parametrize(
    "words, reason",
    [
        (["none"], "no task none"),
        (["some.yaml", "seeds=[1]"], "takes no SCALE, STEP, NAME=VALUE or --minutes"),
        (["some.yaml", "--minutes", "3"], "takes no SCALE, STEP, NAME=VALUE or --minutes"),
        (["prop", "mini", "results", "--minutes", "3"], "--minutes for the step model"),
        (["prop", "mini", "--user-dir", "mine"], "--user-dir is for FILE.yaml"),
        (["prop", "huge"], "no scale huge"),
        (["prop", "mini", "none"], "no step none"),
        (["prop", "mini", "model", "lables=spot"], "no value lables"),
    ],
)
def test_what_there_is_not_is_named(words, reason, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["run.py", *words, "--out", str(tmp_path)])
    with pytest.raises(UserError, match=reason):
        PAPER.main()


def test_other_settings_need_another_folder(carry_out):
    carry_out("copying", "shipped")
    with pytest.raises(UserError, match="settings.*name another folder by --out"):
        carry_out("copying", "shipped", "size=99")
    with pytest.raises(UserError, match="of another run.*scale"):
        carry_out("copying", "shipped", scale="mini")


@functools.lru_cache(None)
def steps_of(task, scale):
    return PAPER.read_task(task, scale, [], ROOT)["steps"]


@pytest.mark.parametrize("scale", ["mini", "medium", "paper"])
def test_operands_in_another_order_are_drawn_and_measured(scale, tmp_path):
    assert ("--exchange" in str(steps_of("ltl", scale))) == (scale != "paper")
    for task in ("prop", "ltl"):
        tables = PAPER.read_task(task, scale, [], tmp_path)["tables"]
        for name in ("model", "results"):
            assert {"exchanged", "more_exchanged"} <= tables[name]["measurements"].keys()


def test_the_steps_of_every_scale_can_be_read():
    for task in (*STEPS, "ltl", "places"):
        for scale in ("mini", "medium", "paper"):
            with contextlib.suppress(UserError):  # not every task has each
                assert "${" not in str(steps_of(task, scale))


# The quickstart's number of updates.


def test_a_training_that_was_begun_keeps_its_number(tmp_path, monkeypatch, capsys):
    """And the whole schedule of the learning rate ends with it."""
    table = PAPER.read_task("ltl", "mini", [], tmp_path)["tables"]["model"]
    times = [[0.3 * number for number in range(41)], [0.1 * number for number in range(41)]]
    monkeypatch.setattr(PACE, "_trial", lambda *arguments: times.pop(0))
    journal = mock.Mock(entries=[])
    overrides = PACE.updates_within(7, table, tmp_path, PAPER.HERE, journal)
    assert overrides == (
        "optimization.max_update=1250 lr_scheduler.warmup_updates=166 "
        "lr_scheduler.lr_period_updates=1084"
    )
    assert "1,250 of 1,500 updates" in capsys.readouterr().out
    journal.entries = [journal.append.call_args.args[0]]
    assert PACE.updates_within(7, table, tmp_path, PAPER.HERE, journal) == overrides
    assert len(times) == 1, "it is not measured again"
    journal.entries = []
    assert PACE.updates_within(7, table, tmp_path, PAPER.HERE, journal) == "", "all of them fit"


def test_the_pace_is_measured_by_a_trial_that_leaves_nothing(carry_out, monkeypatch):
    monkeypatch.setattr(PACE, "_UPDATES", 6)
    out, printed = carry_out("prop", "model", "--minutes", "0.001")
    assert re.search(r"5 updates took [\d.]+ seconds: training has 2 of 2 updates", printed)
    assert not (out / "runs" / "Trial").exists() and not (out / "trial.md").exists()
    assert "as it was begun" in carry_out("prop", "model", "--minutes", "7")[1]


def test_commands_of_the_documents_exist():
    """Each row of REPRODUCE.md has a command, and each step that any document names is one."""
    rows = [
        line.split(" | ")
        for line in (ROOT / "examples" / "REPRODUCE.md").read_text().splitlines()
        if line.startswith("| ")
    ][2:]
    assert len(rows) >= 15
    for row in rows:
        assert len(row) == 3 and "`" in row[1] and row[2].strip(" |"), row[0]
    documents = [
        *ROOT.glob("*.md"),
        *ROOT.glob("examples/**/*.md"),
        *ROOT.glob("checkpoints/**/*.md"),
    ]
    texts = "\n".join(path.read_text() for path in documents if "node_modules" not in str(path))
    steps = set(re.findall(r"examples/paper/run\.py (\w+) (\w+) (\w+)", texts))
    assert len(steps) >= 10
    for task, scale, step in steps:
        scale = "mini" if scale == "SCALE" else scale
        assert step in steps_of(task, scale), (task, step)
    for script in set(
        re.findall(r"(?:bash|python) ((?:examples|scripts)/[\w/]+\.(?:sh|py))", texts)
    ):
        assert (ROOT / script).is_file(), script


def test_examples_are_short():
    for path in ROOT.glob("examples/**/*.sh"):
        assert path.name == "run.sh" and len(path.read_text().splitlines()) <= 25, path
    for path in ROOT.glob("**/*.sh"):
        if "node_modules" not in path.parts and ".venv" not in path.parts:
            subprocess.run(["bash", "-n", path], check=True)
