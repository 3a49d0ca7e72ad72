"""``--verify`` in fairseq's commands: which batches come together, and what is printed of them."""

import logging
import os
import sys
import weakref
from copy import deepcopy
from functools import partial
from types import ModuleType
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence

from omegaconf import DictConfig, open_dict

from sit_fairseq.errors import UserError
from sit_fairseq.judging.acceptance import accepting_judge, refuse_other_logic
from sit_fairseq.judging.pool import JudgePool
from sit_fairseq.tasks.refusals import unsupported
from sit_fairseq.tasks.verified_search import WINDOW, Lookahead, VerifiedSearch, beam_widths

logger = logging.getLogger(__name__)

# As their entry points load them, and as ``python -m`` does.
_COMMANDS = ("fairseq_cli.generate", "fairseq_cli.interactive", "__main__")


class Verification:
    """The verified searches of a task.

    Args:
        task: searches; it owns this.
    """

    def __init__(self, task: Any) -> None:
        self._task = weakref.proxy(task)
        self._pools: Dict[str, JudgePool] = {}
        self._lookahead = Lookahead()
        self._search: Optional[VerifiedSearch] = None
        self._lines: Dict[int, str] = {}
        self._say: Callable[[str], None] = logger.info
        global _current
        _current = weakref.ref(self)

    def generator(self, args: Any, build: Callable[[Any], Any]) -> Any:
        """Builds what searches with the narrowest beam, and knows the wider ones.

        Args:
            args: options of generation; ``verify`` and ``verify_beams`` take the place of the
                task's. Their beam becomes the narrowest one.
            build: makes a generator from options.

        Returns:
            The generator, as ``build`` makes it if nothing is to be verified.

        Raises:
            UserError: an option cannot be used, or the model is of another logic.
        """
        cfg = self._task.cfg
        semantics = getattr(args, "verify", None) or cfg.verify
        given = getattr(args, "verify_beams", None) or cfg.verify_beams
        if semantics is None and given is not None:
            raise UserError("--verify-beams needs --verify SEMANTICS, to know who judges")
        self._search = None
        if semantics is None:
            return build(args)
        self._say = logger.info
        for option in ("score_reference", "prefix_size"):
            if getattr(args, option, None):
                raise unsupported(f"--{option.replace('_', '-')} with --verify")
        widths = beam_widths(given, getattr(args, "beam", 5))
        if semantics not in self._pools:
            judge = accepting_judge(semantics)
            judge.symbols = self._task.src_dict.pattern
            pool = JudgePool(judge, 0 if judge.quick else os.cpu_count())
            weakref.finalize(self, pool.close)
            self._pools[semantics] = pool
        refuse_other_logic(self._pools[semantics].judge, self._task.src_dict.base_tokens())
        args.beam = widths[0]
        generators = {width: build(_with_beam(args, width)) for width in widths}
        self._search = generators[widths[0]].verified = VerifiedSearch(
            generators,
            self._pools[semantics],
            self._task.tgt_dict,
            self._task.build_dataset_for_inference,
            shortest=getattr(args, "verify_choose", None) == "shortest",
        )
        return generators[widths[0]]

    def expect(self, samples: Sequence[Dict[str, Any]]) -> None:
        """Says which batches :meth:`answer` will be asked for next, in their order."""
        self._lookahead.expect(samples)

    def answer(
        self,
        verified: VerifiedSearch,
        sample: Dict[str, Any],
        search: Callable[[Any, Dict[str, Any]], List[List[Dict[str, Any]]]],
        place: Callable[[Dict[str, Any]], Dict[str, Any]],
    ) -> List[List[Dict[str, Any]]]:
        """The verified answers to a batch, see :class:`VerifiedSearch`."""

        def answer_together(samples: Sequence[Dict[str, Any]]) -> List[List[List[Dict[str, Any]]]]:
            found = verified.answer(samples, search)
            # Those of the window before have been printed.
            self._lines = {
                int(number): f"V-{int(number)}\t{best['verdict'].value}\t{best['beam']}"
                for batch, answers in zip(samples, found)
                for number, (best, *_) in zip(batch.get("id", ()), answers)
            }
            return found

        return self._lookahead.take(sample, answer_together, place)

    def end(self) -> None:
        """Prints the closing line, if anything was verified, or logs it if nothing is printed."""
        if self._search is not None and self._search.total:
            self._say(self._search.summary())
        self._lookahead.expect([])

    def print_line(self, number: int, say: Callable[[str], None]) -> None:
        """Prints the ``V-`` line of a sentence, once.

        Args:
            number: the id of the sentence.
            say: prints a line where the answers are printed.
        """
        line = self._lines.pop(number, None)
        if line is not None:
            say(line)
            self._say = say


_current: Optional["weakref.ref[Verification]"] = None


def _with_beam(args: Any, width: int) -> Any:
    args = deepcopy(args)
    if isinstance(args, DictConfig):
        with open_dict(args):
            args.beam = width
    else:
        args.beam = width
    return args


class ExpectedBatches:
    """The batches of a data set, of which a task is told some in advance.

    Args:
        batches: as fairseq iterates over them in an epoch.
        verification: of the task.
    """

    def __init__(self, batches: Any, verification: Verification) -> None:
        self._batches = batches
        self._verification = verification
        self.n = 0  # for fairseq's progress bars

    def __len__(self) -> int:
        return len(self._batches)

    def __iter__(self) -> Iterator[Dict[str, Any]]:
        for window in windows(self._batches, lambda sample: len(sample.get("id", ()))):
            # A rank without data has empty batches, for which it asks nobody.
            self._verification.expect([sample for sample in window if "net_input" in sample])
            for sample in window:
                self.n += 1
                yield sample
        self._verification.end()


def windows(batches: Any, size: Callable[[Any], int]) -> Iterator[List[Any]]:
    """Divides batches into windows of about ``WINDOW`` sentences.

    Args:
        batches: the batches.
        size: the number of sentences of one.

    Yields:
        Successive ones.
    """
    window: List[Any] = []
    for batch in batches:
        window.append(batch)
        if sum(map(size, window)) >= WINDOW:
            yield window
            window = []
    if window:
        yield window


class ExpectedEpochs:
    """fairseq's iterator over epochs, whose batches are :class:`ExpectedBatches`."""

    def __init__(self, epochs: Any, verification: Verification) -> None:
        self._epochs = epochs
        self._verification = verification

    def next_epoch_itr(self, *args: Any, **kwargs: Any) -> ExpectedBatches:
        """See fairseq."""
        return ExpectedBatches(self._epochs.next_epoch_itr(*args, **kwargs), self._verification)


def print_verdicts() -> None:
    """Makes fairseq-generate and -interactive, if this process runs them, print ``V-`` lines.

    fairseq has no hook for them, so that what the commands print with is wrapped: the line stands
    below the ``S-`` line of its sentence.
    """
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
        verification = None if _current is None else _current()
        if verification is not None and text.startswith("S-"):
            number = int(text[2 : text.index("\t")])
            verification.print_line(number, partial(self._print, **options))
