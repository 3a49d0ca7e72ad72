"""One generation: its search, its judges, and the lines that fairseq does not print.

fairseq builds a scorer from its options alone, and prints answers itself. Hence both ask for the last
run that a task has begun, the current one of this process.
"""

import logging
import os
import weakref
from copy import deepcopy
from functools import partial
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from sit_fairseq.domains.by_name import accepting_judge, grammar_of_answers, of_file
from sit_fairseq.errors import UserError
from sit_fairseq.judging.judge import Judge
from sit_fairseq.judging.pool import JudgePool
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.search.verified_search import beam_widths
from sit_fairseq.tasks.generators import Hypotheses, VerifiedGenerator
from sit_fairseq.tasks.options import refuse_given, unsupported
from sit_fairseq.tasks.stream_dictionary import StreamDictionary

logger = logging.getLogger(__name__)


class Run:
    """A generation, which its task owns.

    Args:
        options: of the generation; ``verify``, ``verify_beams`` and ``constrained`` take the place
            of those of the task, ``cfg``.
        ours: whether the models are of this package, so that they search in slot space.
        build: makes a generator, which answers batches, from options and a ``grammar`` or None.
        domain: gives the name of the domain of the model's sentences, see
            :func:`~sit_fairseq.domains.by_name.grammar_of_answers`.

    Attributes:
        scorer: judges answers, which fairseq then prints with their verdicts; None if nobody does.
        check_scored: raises a UserError if what is answered cannot be scored.
        ids, lines: of the sentences of the next batch, for a command that does not pass them on.
        reason: why the sentence that is being printed has no answer; None if it has one.
    """

    def __init__(
        self,
        options: Any,
        cfg: Any,
        dictionary: StreamDictionary,
        ours: bool,
        build: Callable[..., Any],
        domain: Callable[[str], str] = partial(of_file, None),
    ) -> None:
        global _current
        self.options, self.dictionary, self.domain = options, dictionary, domain
        self.scorer = self.reason = None
        self.check_scored: Callable[[], None] = lambda: None
        self.ids, self.lines = (), ()
        self._verdicts: Dict[int, str] = {}
        self._reasons: Dict[int, str] = {}
        self._say: Optional[Callable[[str], None]] = logger.info  # None once it is closed
        semantics, beams, constrained = (
            getattr(options if hasattr(options, name) else cfg, name, None)
            for name in ("verify", "verify_beams", "constrained")
        )
        judge = None
        if semantics is not None:
            if getattr(options, "score_reference", False):
                raise unsupported("--score-reference with --verify")
            judge = accepting_judge(semantics)
        elif beams is not None:
            raise UserError("--verify-beams needs --verify SEMANTICS, to know who judges")
        grammar = grammar_of_answers(constrained, judge if ours else None, domain)
        build = partial(build, grammar=grammar)
        self.generator = build(options) if judge is None else self._verified(judge, beams, build)
        _current = weakref.ref(self)

    def _verified(self, judge: Judge, beams: Any, build: Callable[[Any], Any]) -> VerifiedGenerator:
        parameter, given = "verify_beams", beams
        if beams is None:
            parameter, given = "beam", [getattr(self.options, "beam", 5)]
        widths = beam_widths(given, parameter)
        judges = JudgePool(judge, 0 if judge.quick else os.cpu_count())
        weakref.finalize(self, judges.close)
        generators = {}
        for width in widths:
            self.options.beam = width
            generators[width] = build(deepcopy(self.options))
        self.options.beam = widths[0]  # which fairseq prints
        return VerifiedGenerator(generators, judges, self.dictionary)

    def note(self, sample: Dict[str, Any], hypotheses: List[Hypotheses]) -> None:
        """Keeps the verdicts on a batch, and why sentences have no answer, and has it scored."""
        for number, (best, *_) in zip(map(int, sample.get("id", self.ids)), hypotheses):
            if "reason" in best:
                self._reasons[number] = best["reason"]
            elif "verdict" in best:
                self._verdicts[number] = f"{best['verdict'].value}\t{best['beam']}"
        if self.scorer is None:
            refuse_given(self.options, "print_step")  # which fairseq would look for in vain
        else:
            self.scorer.judge(sample, [nbest[: self.options.nbest] for nbest in hypotheses])

    def begin_sentence(self, number: int, say: Callable[[str], None]) -> None:
        """Prints the ``V-`` line of a sentence, once, by what prints its answers."""
        self.reason = self._reasons.pop(number, None)
        if number in self._verdicts:
            say(f"V-{number}\t{self._verdicts.pop(number)}")
            self._say = say

    def end(self) -> None:
        """Prints the closing line of what was verified, once, or logs it if nothing is printed."""
        if isinstance(self.generator, VerifiedGenerator) and self.generator.total and self._say:
            self._say(self.generator.summary())
            self._say = None


_current: Optional["weakref.ref[Run]"] = None


def current_run() -> Optional[Run]:
    """The run of this process, if there is one."""
    return None if _current is None else _current()


def judge_answers(
    judges: JudgePool,
    dictionary: StreamDictionary,
    sample: Dict[str, Any],
    hypotheses: List[Hypotheses],
) -> Tuple[Sequence[str], List[List[str]], List[List[Verdict]]]:
    """Judges the answers to a batch: for each sentence what they are judged against, their texts and
    verdicts. A UserError if the judge needs references and there are none."""
    text, targets = dictionary.text, sample.get("target")
    sources = [text(tokens) for tokens in sample["net_input"]["src_tokens"]]
    references = None if targets is None else [text(t, escape_unk=True) for t in targets]
    answers = [[text(hypothesis["tokens"]) for hypothesis in nbest] for nbest in hypotheses]
    problems = judges.judge.problems(sources, references, dictionary.pattern)
    return problems, answers, judges.verify_answers(problems, answers)
