"""One generation: what it searches with, who verifies or scores its answers, what it prints.

fairseq builds a scorer from its options alone, and prints answers itself. Hence the last run that
a task has begun is the current one of this process, until the task is gone: the scorer asks for
it, and so does what prints (:mod:`sit_fairseq.tasks.fairseq_patches`).
"""

import logging
import os
import weakref
from copy import deepcopy
from typing import Any, Callable, Dict, List, Optional, Sequence

from omegaconf import DictConfig, open_dict

from sit_fairseq.errors import UserError
from sit_fairseq.judging.judge import accepting_judge, refuse_other_logic
from sit_fairseq.judging.pool import JudgePool
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.search.verified_search import Hypotheses, Search, VerifiedSearch, beam_widths
from sit_fairseq.tasks.refusals import unsupported
from sit_fairseq.tasks.stream_dictionary import StreamDictionary

logger = logging.getLogger(__name__)

# From sources, their references if there are any, and for each source its answers, best first,
# to a verdict on each answer.
JudgeAnswers = Callable[
    [List[str], Optional[List[str]], List[List[str]]], Sequence[Sequence[Verdict]]
]


class Run:
    """A generation, which its task owns.

    Args:
        options: of the generation; ``verify`` and ``verify_beams`` take the place of the task's.
        cfg: options of the task.
        dictionary: of sources and answers.
        build: makes a generator from options.

    Attributes:
        generator: what searches, with the narrowest beam if there are several.

    Raises:
        UserError: an option cannot be used, or the model is of another logic.
    """

    def __init__(
        self,
        options: Any,
        cfg: Any,
        dictionary: StreamDictionary,
        build: Callable[[Any], Any],
    ) -> None:
        global _current
        self._options = options
        self._dictionary = dictionary
        self._prints_steps = getattr(options, "print_step", False)
        self._judge: Optional[JudgeAnswers] = None
        self._verified: Optional[VerifiedSearch] = None
        self._lines: Dict[int, str] = {}
        self._say: Callable[[str], None] = logger.info
        semantics = getattr(options, "verify", None) or cfg.verify
        beams = getattr(options, "verify_beams", None) or cfg.verify_beams
        if semantics is None and beams is not None:
            raise UserError("--verify-beams needs --verify SEMANTICS, to know who judges")
        if semantics is None:
            self.generator = build(options)
        else:
            self.generator = self._verify(semantics, beams, build)
        _current = weakref.ref(self)

    def _verify(self, semantics: str, beams: Any, build: Callable[[Any], Any]) -> Any:
        for option in ("score_reference", "prefix_size"):
            if getattr(self._options, option, None):
                raise unsupported(f"--{option.replace('_', '-')} with --verify")
        widths = beam_widths(beams, getattr(self._options, "beam", 5))
        judge = accepting_judge(semantics)
        refuse_other_logic(judge, self._dictionary.base_tokens())
        pool = JudgePool(judge, 0 if judge.quick else os.cpu_count())
        weakref.finalize(self, pool.close)
        self._options.beam = widths[0]  # which fairseq prints
        generators = {width: build(_with_beam(self._options, width)) for width in widths}
        shortest = getattr(self._options, "verify_choose", None) == "shortest"
        self._verified = VerifiedSearch(generators, pool, self._dictionary, shortest)
        return generators[widths[0]]

    @property
    def symbols(self) -> Optional[str]:
        """The pattern of the interchangeable tokens."""
        return self._dictionary.pattern

    def answer(self, sample: Dict[str, Any], search: Search, generator: Any) -> List[Hypotheses]:
        """Answers a batch: verified if that was asked for, and judged if somebody judges.

        Args:
            sample: the batch.
            search: asks a generator.
            generator: the one that fairseq asks for.

        Returns:
            The hypotheses of each sentence, best first.
        """
        if self._verified is None or generator is not self.generator:
            hypotheses = search(generator, sample)
        else:
            hypotheses = self._verified.answer(sample, search)
            for number, (best, *_) in zip(sample.get("id", ()), hypotheses):
                line = f"V-{int(number)}\t{best['verdict'].value}\t{best['beam']}"
                self._lines[int(number)] = line
        if self._judge is not None:
            self._pass_judgement(sample, hypotheses)
        return hypotheses

    @property
    def verifies(self) -> bool:
        """Whether answers are verified."""
        return self._verified is not None

    def judge_by(self, judge: JudgeAnswers) -> None:
        """Until its end the run judges answers, and fairseq prints verdicts as ``I-`` lines."""
        self._judge = judge
        self._options.print_step = True

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

    def end_batches(self) -> None:
        """Prints the closing line of what was verified, or logs it if nothing is printed."""
        if self._verified is not None and self._verified.total:
            self._say(self._verified.summary())

    def end_judging(self) -> None:
        """Nobody judges any more, and no other scorer can find this run."""
        global _current
        self._judge = None
        self._options.print_step = self._prints_steps
        if current_run() is self:
            _current = None

    def _pass_judgement(self, sample: Dict[str, Any], hypotheses: List[Hypotheses]) -> None:
        """Those that are printed get their verdict as ``steps``, which fairseq writes into an
        ``I-`` line."""
        printed = [nbest[: self._options.nbest] for nbest in hypotheses]
        text = self._dictionary.text
        sources = [text(tokens) for tokens in sample["net_input"]["src_tokens"]]
        targets = sample.get("target")
        references = None if targets is None else [text(t, escape_unk=True) for t in targets]
        answers = [[text(hypothesis["tokens"]) for hypothesis in nbest] for nbest in printed]
        for nbest, verdicts in zip(printed, self._judge(sources, references, answers)):
            for hypothesis, verdict in zip(nbest, verdicts):
                hypothesis["steps"] = verdict.value


_current: Optional["weakref.ref[Run]"] = None


def current_run() -> Optional[Run]:
    """The run of this process, if there is one."""
    return None if _current is None else _current()


def _with_beam(options: Any, width: int) -> Any:
    options = deepcopy(options)
    if isinstance(options, DictConfig):
        with open_dict(options):
            options.beam = width
    else:
        options.beam = width
    return options
