"""What a training that may be killed at any moment needs of its checkpoints.

fairseq offers no hook around its copying and its resuming, so that both are wrapped here.
"""

import functools
import logging
import os
import re
from typing import Optional, Tuple

from fairseq import checkpoint_utils
from fairseq.file_io import PathManager

from sit_fairseq.errors import UserError
from sit_fairseq.files import partial_files
from sit_fairseq.safe_loading import UnreadableCheckpoint

logger = logging.getLogger(__name__)

_LAST = "checkpoint_last.pt"


def copy_checkpoints_whole() -> None:
    """Makes fairseq's copies of a checkpoint, *best* and *last*, take their names only once
    they are complete. It writes the first checkpoint so itself, but the copies in place."""
    copy = PathManager.copy
    if hasattr(copy, "__wrapped__"):
        return

    @functools.wraps(copy)
    def copy_whole(src_path: str, dst_path: str, overwrite: bool = False) -> bool:
        if not overwrite or not PathManager.supports_rename(dst_path):
            return copy(src_path, dst_path, overwrite)
        with partial_files(dst_path) as (temporary,):
            return copy(src_path, temporary, overwrite)

    PathManager.copy = staticmethod(copy_whole)


def resume_exactly() -> None:
    """Makes fairseq-train go on from the newest whole checkpoint if the last is damaged, and
    end if ``--max-update`` was reached before; it would train one update more."""
    load = checkpoint_utils.load_checkpoint
    if hasattr(load, "__wrapped__"):
        return

    @functools.wraps(load)
    def load_whole(cfg, trainer, **kwargs):
        try:
            loaded = load(cfg, trainer, **kwargs)
        except UnreadableCheckpoint as error:
            suffix = trainer.checkpoint_suffix
            last = os.path.join(cfg.save_dir, _LAST.replace(".pt", suffix + ".pt"))
            if cfg.restore_file != _LAST or error.path != last or not error.damaged:
                raise
            _replace(last, suffix, error.reason)
            loaded = load(cfg, trainer, **kwargs)
        most = trainer.cfg.optimization.max_update
        if 0 < most <= trainer.get_num_updates():
            logger.info("the %d updates of --max-update are done: nothing is left to train", most)
            raise SystemExit(0)
        return loaded

    checkpoint_utils.load_checkpoint = load_whole


def _replace(last: str, suffix: str, reason: str) -> None:
    """Puts the newest whole checkpoint in the place of the damaged last one, which is kept.

    Raises:
        UserError: there is none.
    """
    updates, path = _newest_whole(os.path.dirname(last), suffix)
    if path is None:
        raise UserError(
            f"{last} is damaged ({reason}) and there is no whole checkpoint beside it; remove it "
            "to train from the beginning, or name another file with --restore-file"
        )
    os.replace(last, last + ".damaged")
    PathManager.copy(path, last, overwrite=True)
    logger.warning(
        "%s is damaged (%s): it is kept as %s, and the training goes on from %s, the newest whole "
        "checkpoint (%d updates)",
        last,
        reason,
        os.path.basename(last) + ".damaged",
        os.path.basename(path),
        updates,
    )


def _newest_whole(directory: str, suffix: str) -> Tuple[int, Optional[str]]:
    """The checkpoint with the most updates among those that fairseq wrote and can read."""
    names = rf"checkpoint(\d+|_\d+_\d+|_best|\.best_.+){re.escape(suffix)}\.pt"
    newest: Tuple[int, Optional[str]] = (-1, None)
    for name in filter(re.compile(names).fullmatch, sorted(os.listdir(directory))):
        path = os.path.join(directory, name)
        try:
            state = checkpoint_utils.load_checkpoint_to_cpu(path)
        except UnreadableCheckpoint:
            continue
        newest = max(newest, (state["optimizer_history"][-1]["num_updates"], path))
    return newest
