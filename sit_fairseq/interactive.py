"""fairseq-interactive as a service: a line it cannot answer costs no other line its answer.

fairseq offers no hook around the loop of that command, so that what the loop calls is wrapped
here: the reading of lines, their batches, and the printing.
"""

import fileinput
import sys
from collections import deque
from itertools import islice
from types import ModuleType
from typing import Any, Deque, Iterator, List, Optional, Tuple

import torch

from sit_fairseq.errors import UnansweredError, UserError

# As its entry point loads it, and as ``python -m`` does.
_COMMAND = ("fairseq_cli.interactive", "__main__")


def answer_every_line() -> None:
    """Makes fairseq-interactive, if this process runs it, answer all lines that can be.

    The others get, in their order, a line ``S-`` and a line ``E-`` with the reason on standard
    output. If there were any, the command ends with status 1, otherwise with 0. The answers to
    a buffer are flushed before the next is read.
    """
    for name in _COMMAND:
        command = sys.modules.get(name)
        batches = getattr(command, "make_batches", None)
        if batches is not None and not isinstance(getattr(batches, "__self__", None), _Service):
            _Service(command)


class _Service:
    """Stands between the loop of the command and its input, batches and output.

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
