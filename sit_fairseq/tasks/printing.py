"""What fairseq-generate and -interactive print of a run that verifies.

fairseq has no hook for it, so that what the commands print with is wrapped: the ``V-`` line stands
below the ``S-`` line of its sentence, the closing line after the last batch.
"""

import sys
from functools import partial
from types import ModuleType
from typing import Any, Callable, Iterator

from sit_fairseq.tasks.run import current_run

# As their entry points load them, and as ``python -m`` does.
_COMMANDS = ("fairseq_cli.generate", "fairseq_cli.interactive", "__main__")


def print_verdicts() -> None:
    """Makes fairseq-generate and -interactive, if this process runs them, print ``V-`` lines."""
    for name in _COMMANDS:
        command = sys.modules.get(name)
        if hasattr(command, "get_symbols_to_strip_from_output"):
            if not isinstance(getattr(command, "print", None), _Printer):
                command.print = _Printer(command)


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
