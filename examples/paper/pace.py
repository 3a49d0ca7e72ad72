"""How many updates of a training fit a time, on this machine as busy as it is."""

import shutil
from datetime import datetime
from pathlib import Path
from typing import Any, Dict, Sequence

from omegaconf import OmegaConf

from examples.paper.runs import run_table
from examples.paper.tables import make_runs, make_table, settings
from sit_fairseq.errors import UserError
from sit_fairseq.storage.journal import Journal

# A trial, which is thrown away, ends with the first of these.
_UPDATES, _SECONDS = 41, 20
# The rest of the time is for validations and checkpoints.
_SHARE_OF_UPDATES = 0.9
_FEWEST = 100


def updates_within(
    minutes: float, content: Dict[str, Any], folder: Path, beside: Path, journal: Journal
) -> str:
    """Measures the speed of a training and says, in overrides, how much of it fits a time.

    Warm-up and the period of the learning rate shrink with the number of updates. The number is
    kept in the journal, so that the training can be interrupted and goes on with the same.

    Args:
        minutes: for the training.
        content: of a table's file, with one run.
        folder: has the data.
        beside: has the hydra configurations.
        journal: of the folder.
    """
    table = make_table(content, "the trial", beside)
    base = OmegaConf.merge(*map(OmegaConf.load, table.hydra))
    plan = settings(make_runs(table, folder)[0], base)
    most = plan.optimization.max_update
    known = [entry["updates"] for entry in journal.entries if "updates" in entry]
    if known:
        updates = known[0]
        print(f"\nTraining has {updates:,} of {most:,} updates, as it was begun.", flush=True)
    else:
        times = _trial(content, folder, beside)
        updates = fitting(times, 60 * minutes, most)
        print(
            f"\n{len(times) - 1} updates took {times[-1] - times[0]:.1f} seconds: training has "
            f"{updates:,} of {most:,} updates, to end within {minutes:g} minutes.",
            flush=True,
        )
        journal.append({"updates": updates})
    if updates == most:
        return ""
    warmup = plan.lr_scheduler.warmup_updates * updates // most
    return (
        f"optimization.max_update={updates} lr_scheduler.warmup_updates={warmup} "
        f"lr_scheduler.lr_period_updates={updates - warmup}"
    )


def fitting(times: Sequence[float], seconds: float, most: int) -> int:
    """How many updates, ``most`` at most, fit some seconds; fewer than 100 teach nothing.

    ``times`` are the seconds at which updates ended, at least two.
    """
    each = (times[-1] - times[0]) / (len(times) - 1)
    fit = int(_SHARE_OF_UPDATES * seconds / max(each, 1e-6)) // 50 * 50
    return min(most, max(_FEWEST, fit))


def _trial(content: Dict[str, Any], folder: Path, beside: Path) -> Sequence[float]:
    """Trains for a few seconds and returns when each update ended."""
    overrides = (
        f"{content['overrides']} optimization.max_update={_UPDATES} "
        f"optimization.stop_time_hours={_SECONDS / 3600} common.log_interval=1 "
        "dataset.disable_validation=true checkpoint.no_save=true"
    )
    [condition] = content["conditions"].values()
    changed = {"overrides": overrides, "conditions": {"Trial": condition}, "measurements": {}}
    table = make_table({**content, **changed}, "the trial", beside)
    runs = folder / "runs" / "Trial"
    shutil.rmtree(runs, ignore_errors=True)
    _, failed = run_table(table, folder, "trial", jobs=1)
    if failed:
        raise UserError("the trial failed, see above")
    [log] = runs.glob("*/*/train.log")
    times = [
        datetime.fromisoformat(line[1:24].replace(",", ".")).timestamp()
        for line in log.read_text(encoding="utf-8").splitlines()
        if "[train_inner][INFO]" in line
    ]
    shutil.rmtree(runs)
    (folder / "trial.md").unlink()
    # So slow that not even two were done.
    return times if len(times) > 1 else [0.0, float(_SECONDS)]
