"""What the task and the scorer of one run of fairseq-generate tell each other.

fairseq builds a scorer from its options alone, but a judge needs the sources and the answers
have a line for its verdict. Hence one run is the current one of this process: from when the
task builds the generator until the scorer has given its result, another run begins, or the
task is gone.
"""

import weakref
from typing import Any, Callable, Dict, List, Optional, Sequence

from sit_fairseq.errors import UserError
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.symbols.stream_dictionary import StreamDictionary

# From sources, their references if there are any, and for each source its answers, best first,
# to a verdict on each answer. Where the model could not read the source there is None.
JudgeAnswers = Callable[
    [List[str], Optional[List[str]], List[Optional[List[str]]]], Sequence[Sequence[Verdict]]
]


class GenerationRun:
    """One run, which its task owns.

    Args:
        options: of the generation, by which the command prints answers.
        dictionary: of sources and answers.
    """

    def __init__(self, options: Any, dictionary: StreamDictionary) -> None:
        self._options = options
        self._dictionary = dictionary
        self._prints_steps = options.print_step
        self._judge: Optional[JudgeAnswers] = None

    @property
    def symbols(self) -> Optional[str]:
        """The pattern of the interchangeable tokens."""
        return self._dictionary.pattern

    def judge_by(self, judge: JudgeAnswers) -> None:
        """Until its end the run judges answers, and fairseq prints verdicts as ``I-`` lines."""
        self._judge = judge
        self._options.print_step = True

    def judge(self, sample: Dict[str, Any], hypotheses: List[List[Dict[str, Any]]]) -> None:
        """Lets the answers to a batch be judged, if somebody judges.

        Args:
            sample: the batch.
            hypotheses: of each sentence, best first; those that are printed get their verdict
                as ``steps``, which is what fairseq writes into an ``I-`` line.
        """
        if self._judge is None:
            return
        printed = [nbest[: self._options.nbest] for nbest in hypotheses]
        text = self._dictionary.text
        sources = [text(tokens) for tokens in sample["net_input"]["src_tokens"]]
        targets = sample.get("target")
        references = None if targets is None else [text(t, escape_unk=True) for t in targets]
        answers = [
            None if "unread" in nbest[0] else [text(hypothesis["tokens"]) for hypothesis in nbest]
            for nbest in printed
        ]
        for nbest, verdicts in zip(printed, self._judge(sources, references, answers)):
            for hypothesis, verdict in zip(nbest, verdicts):
                hypothesis["steps"] = verdict.value

    def end(self) -> None:
        """Nobody judges any more, and no other scorer can find this run."""
        global _current
        self._judge = None
        self._options.print_step = self._prints_steps
        if _current is not None and _current() is self:
            _current = None


_current: Optional["weakref.ref[GenerationRun]"] = None


def begin(options: Any, dictionary: StreamDictionary) -> GenerationRun:
    """Begins a run, which takes the place of the one before.

    Args:
        options: see :class:`GenerationRun`.
        dictionary: likewise.

    Returns:
        The run; it lasts no longer than its owner keeps it.
    """
    global _current
    run = GenerationRun(options, dictionary)
    _current = weakref.ref(run)
    return run


def current() -> GenerationRun:
    """The run of this process.

    Raises:
        UserError: there is none.
    """
    run = None if _current is None else _current()
    if run is None:
        raise UserError("--scoring semantic needs --task stream_translation")
    return run
