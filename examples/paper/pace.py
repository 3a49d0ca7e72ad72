"""How many updates of a training fit a time, on this machine as busy as it is."""

import shutil
from datetime import datetime
from pathlib import Path
from typing import Any, Dict, Sequence

from omegaconf import OmegaConf

from sit_fairseq.errors import UserError
from sit_fairseq.evaluation.experiment_runs import run_experiments
from sit_fairseq.evaluation.experiments import make_experiments, make_runs
from sit_fairseq.storage.journal import Journal

# A trial, which is thrown away, ends with the first of these.
_UPDATES, _SECONDS = 41, 20
# The rest of the time is for validations and checkpoints.
_SHARE_OF_UPDATES = 0.9
_FEWEST = 100


def updates_within(
    minutes: float, table: Dict[str, Any], folder: Path, base: Path, journal: Journal
) -> str:
    """Measures the speed of a training and says, in overrides, how much of it fits a time.

    Warm-up and the period of the learning rate shrink with the number of updates. The number is
    kept in the journal, so that the training can be interrupted and goes on with the same.

    Args:
        minutes: for the training.
        table: with one run; its training is measured.
        folder: has the data.
        base: has the hydra configurations.
        journal: of the folder.

    Returns:
        Overrides of hydra; none if all updates fit.
    """
    experiments = make_experiments(table, "the trial", base)
    run = make_runs(experiments, folder)[0]
    configuration = OmegaConf.merge(
        *map(OmegaConf.load, experiments.hydra), OmegaConf.from_dotlist(run.overrides)
    )
    most = configuration.optimization.max_update
    known = [entry["updates"] for entry in journal.entries if "updates" in entry]
    if known:
        updates = known[0]
        print(f"\nTraining has {updates:,} of {most:,} updates, as it was begun.", flush=True)
    else:
        times = _trial(table, folder, base)
        updates = fitting(times, 60 * minutes, most)
        print(
            f"\n{len(times) - 1} updates took {times[-1] - times[0]:.1f} seconds: training has "
            f"{updates:,} of {most:,} updates, to end within {minutes:g} minutes.",
            flush=True,
        )
        journal.append({"updates": updates})
    if updates == most:
        return ""
    warmup = configuration.lr_scheduler.warmup_updates * updates // most
    return (
        f"optimization.max_update={updates} lr_scheduler.warmup_updates={warmup} "
        f"lr_scheduler.lr_period_updates={updates - warmup}"
    )


def fitting(times: Sequence[float], seconds: float, most: int) -> int:
    """How many updates fit.

    Args:
        times: the seconds at which updates ended, at least two.
        seconds: for the training.
        most: no more than these.

    Returns:
        A number of updates, which may take longer than the time if it is the least that teaches
        anything.
    """
    each = (times[-1] - times[0]) / (len(times) - 1)
    fit = int(_SHARE_OF_UPDATES * seconds / max(each, 1e-6)) // 50 * 50
    return min(most, max(_FEWEST, fit))


def _trial(table: Dict[str, Any], folder: Path, base: Path) -> Sequence[float]:
    """Trains for a few seconds and returns when each update ended."""
    overrides = (
        f"{table['overrides']} optimization.max_update={_UPDATES} "
        f"optimization.stop_time_hours={_SECONDS / 3600} common.log_interval=1 "
        "dataset.disable_validation=true checkpoint.no_save=true"
    )
    [(_, condition)] = table["conditions"].items()
    changed = {"overrides": overrides, "conditions": {"Trial": condition}, "measurements": {}}
    experiments = make_experiments({**table, **changed}, "the trial", base)
    runs = folder / "runs" / "Trial"
    shutil.rmtree(runs, ignore_errors=True)
    _, failed = run_experiments(experiments, folder, "trial", jobs=1)
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
