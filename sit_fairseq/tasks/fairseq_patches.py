"""Every place where a part of fairseq is replaced, and why no hook serves.

======================================== ======================================================
fairseq's name                           why it is replaced
======================================== ======================================================
``checkpoint_utils.load_checkpoint_to_``
``cpu``                                  it builds and runs what the options of a file say; here
                                         they are checked as data first, and a damaged file is named
``checkpoint_utils.load_checkpoint``     it cannot go on from a damaged last checkpoint, and trains
                                         one update beyond ``--max-update``
``file_io.PathManager.copy``             it writes *best* and *last* in place, half of which a kill
                                         would leave
``interactive.buffered_read``,
``make_batches``, ``print``              one bad line ends the whole service
``generate.print``                       it knows no ``V-`` line
======================================== ======================================================
"""

import fileinput
import functools
import logging
import os
import re
import sys
from collections import deque
from functools import partial
from itertools import islice
from types import ModuleType
from typing import Any, Callable, Deque, Dict, Iterator, List, Optional, Tuple

import torch
from fairseq import checkpoint_utils
from fairseq.dataclass.utils import omegaconf_no_object_check, overwrite_args_by_name
from fairseq.file_io import PathManager
from omegaconf import OmegaConf

from sit_fairseq.errors import UnansweredError, UserError
from sit_fairseq.storage.checkpoints import UnreadableCheckpoint, register_safe_globals
from sit_fairseq.storage.files import partial_files
from sit_fairseq.tasks.file_options import read_state
from sit_fairseq.tasks.run import current_run

logger = logging.getLogger(__name__)

_LAST = "checkpoint_last.pt"

# The commands as their entry points load them, and as ``python -m`` does.
_GENERATE = ("fairseq_cli.generate", "fairseq_cli.interactive", "__main__")
_INTERACTIVE = ("fairseq_cli.interactive", "__main__")


@functools.lru_cache(maxsize=None)
def patch_fairseq() -> None:
    """Replaces what concerns files; once, however often it is called."""
    register_safe_globals()
    checkpoint_utils.load_checkpoint_to_cpu = load_checkpoint_to_cpu
    checkpoint_utils.load_checkpoint = _resuming_exactly(checkpoint_utils.load_checkpoint)
    PathManager.copy = staticmethod(_copying_whole(PathManager.copy))
    # On import, a model of fairseq's makes everything log at DEBUG. LOGLEVEL is fairseq's variable.
    if "LOGLEVEL" not in os.environ and logging.getLogger().level == logging.DEBUG:
        logging.getLogger().setLevel(logging.INFO)


def patch_command() -> None:
    """Replaces what fairseq-generate and fairseq-interactive read and print with, if this process
    runs one of them."""
    for name in _INTERACTIVE:
        command = sys.modules.get(name)
        batches = getattr(command, "make_batches", None)
        if batches is not None and not isinstance(getattr(batches, "__self__", None), _Service):
            _Service(command)
    for name in _GENERATE:
        command = sys.modules.get(name)
        if hasattr(command, "get_symbols_to_strip_from_output"):
            if not isinstance(getattr(command, "print", None), _Printer):
                command.print = _Printer(command)


# Checkpoints.


def load_checkpoint_to_cpu(
    path: str, arg_overrides: Optional[Dict[str, Any]] = None, load_on_all_ranks: bool = False
) -> Dict[str, Any]:
    """Reads a checkpoint as data, and refuses options that are more than that.

    Args:
        path: the file, or the weights of a folder of ``sit export --hub``.
        arg_overrides: options of the command, which replace those of the file.
        load_on_all_ranks: as in fairseq; every rank reads the file here.

    Raises:
        UserError: the file is damaged, or its options are no mere data.
    """
    remedy = "name another file with --path, --restore-file or --finetune-from-model"
    state = read_state(PathManager.get_local_path(path), arg_overrides, remedy)
    state.pop("task_state", None)  # its translation has none
    with omegaconf_no_object_check():  # fairseq's old models have their options as objects
        state["cfg"] = OmegaConf.create(state["cfg"])
    overwrite_args_by_name(state["cfg"], arg_overrides or {})
    return checkpoint_utils._upgrade_state_dict(state)


def _copying_whole(copy: Callable) -> Callable:
    """Makes copies of a checkpoint take their names only once they are complete."""

    @functools.wraps(copy)
    def copy_whole(src_path: str, dst_path: str, overwrite: bool = False) -> bool:
        if not overwrite or not PathManager.supports_rename(dst_path):
            return copy(src_path, dst_path, overwrite)
        with partial_files(dst_path) as (temporary,):
            return copy(src_path, temporary, overwrite)

    return copy_whole


def _resuming_exactly(load: Callable) -> Callable:
    """Makes fairseq-train go on from the newest whole checkpoint if the last is damaged, and end
    if ``--max-update`` was reached before."""

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

    return load_whole


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


# fairseq-interactive.


class _Service:
    """Answers every line that can be answered.

    A line that cannot is printed in its place as ``S-`` and ``E-``, with the reason. If there was
    one, the command ends with status 1. The answers to a buffer are flushed before the next is read.

    Args:
        command: the module, whose functions are replaced.
    """

    def __init__(self, command: ModuleType) -> None:
        self._batches = command.make_batches
        self._task: Any = None
        self._begin()
        command.buffered_read = self._read_buffers
        command.make_batches = self._make_batches
        command.print = self._print

    def _begin(self) -> None:
        self._first = 0  # id of the buffer's first line
        self._known: Optional[int] = None  # tokens of the dictionary before the first line
        self._number_refused = 0
        self._refused: Deque[Tuple[int, str, str]] = deque()  # id, line, reason; not yet printed

    def _read_buffers(self, input: str, buffer_size: int) -> Iterator[List[str]]:
        self._begin()
        if input == "-" and hasattr(sys.stdin, "reconfigure"):
            sys.stdin.reconfigure(errors="surrogateescape")  # bytes that are no text
        hook = fileinput.hook_encoded("utf-8", "surrogateescape")
        with fileinput.FileInput(files=[input], openhook=hook) as text:
            while lines := [line.strip() for line in islice(text, buffer_size)]:
                yield lines
                # All its answers are printed.
                self._first += len(lines)
                self._print_refused()
                sys.stdout.flush()
        if self._task is not None:
            self._task.end_run()
        if self._number_refused:
            raise UserError(
                f"{self._number_refused} of {self._first} lines could not be answered; the E- line "
                "of each says why"
            )

    def _make_batches(self, lines, cfg, task, max_positions, encode_fn) -> Iterator[Any]:
        if not hasattr(task, "read"):  # a task of fairseq's
            yield from self._batches(lines, cfg, task, max_positions, encode_fn)
            return
        self._task = task
        if self._known is None:
            self._known = len(task.source_dictionary)
        task.source_dictionary.forget_after(self._known)  # names of the buffer before
        answered = []
        most = cfg.dataset.max_tokens
        read = task.read(lines, encode_fn, max_positions, most, cfg.generation)
        for place, found in enumerate(read):
            if not isinstance(found, UnansweredError):
                answered.append(place)
            elif task.cfg.strict:
                raise found
            else:
                self._refused.append((self._first + place, lines[place], found.reason))
        self._number_refused += len(lines) - len(answered)
        if answered:
            kept = [lines[place] for place in answered]
            places = torch.tensor(answered)
            for batch in self._batches(kept, cfg, task, max_positions, encode_fn):
                batch = batch._replace(ids=places[batch.ids])
                task.number_batch(batch.ids + self._first)
                yield batch

    def _print(self, text: str) -> None:
        if text.startswith("S-"):
            self._print_refused(int(text[2 : text.index("\t")]))
        print(text)

    def _print_refused(self, end: Optional[int] = None) -> None:
        """Prints those before the line with the id ``end``, by default all."""
        while self._refused and (end is None or self._refused[0][0] < end):
            number, line, reason = self._refused.popleft()
            text = line.encode(errors="surrogateescape").decode(errors="backslashreplace")
            print(f"S-{number}\t{' '.join(text.split())}\nE-{number}\t{reason}")


# V- lines.


class _Printer:
    """Prints what a command does, and lines of its own.

    Args:
        command: its module.
    """

    def __init__(self, command: ModuleType) -> None:
        self._print = getattr(command, "print", print)

    def __call__(self, text: str, **options: Any) -> None:
        self._print(text, **options)
        run = current_run()
        if run is not None and text.startswith("S-"):
            run.print_line(int(text[2 : text.index("\t")]), partial(self._print, **options))


class EndedEpochs:
    """fairseq's iterator over epochs, of each of which the end is noted.

    Args:
        epochs: as fairseq makes it.
        ended: is called at the end of each.
    """

    def __init__(self, epochs: Any, ended: Callable[[], None]) -> None:
        self._epochs, self._ended = epochs, ended

    def next_epoch_itr(self, *args: Any, **kwargs: Any) -> "_EndedBatches":
        """See fairseq."""
        return _EndedBatches(self._epochs.next_epoch_itr(*args, **kwargs), self._ended)


class _EndedBatches:
    """The batches of an epoch, of which the end is noted."""

    def __init__(self, batches: Any, ended: Callable[[], None]) -> None:
        self._batches, self._ended = batches, ended
        self.n = 0  # for fairseq's progress bars

    def __len__(self) -> int:
        return len(self._batches)

    def __iter__(self) -> Iterator[Any]:
        for self.n, sample in enumerate(self._batches, start=1):
            yield sample
        self._ended()
