"""Judges: what they must offer, the table of them, and the rules for propositional logic."""

import logging
import os
import sys
from abc import ABC, abstractmethod
from importlib import import_module
from typing import Dict, FrozenSet, List, Optional, Sequence, Union

from sit_fairseq.errors import UserError
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.logic.propositional import (
    OPERATORS,
    MalformedAssignment,
    check_propositional,
    parse_assignment,
)
from sit_fairseq.logic.syntax import (
    ARITY,
    CONSTANTS,
    TRACE_MARKS,
    MalformedFormula,
    formula_symbols,
    tokenize,
)

logger = logging.getLogger(__name__)

# A problem or an answer, as text or as tokens.
Sentence = Union[str, Sequence[str]]

# Semantics -> name of a judge -> where it is defined. The first one is the default.
# Modules are imported when asked for, since some need libraries not everyone has.
JUDGES: Dict[str, Dict[str, str]] = {
    "prop": {
        "bits": "sit_fairseq.judging.bits_judge:BitsJudge",
        "aiger": "sit_fairseq.judging.aiger_judge:AigerJudge",
    },
    "ltl": {
        "spot": "sit_fairseq.judging.spot_judge:SpotJudge",
    },
    "copy": {
        "equality": "sit_fairseq.judging.copy_judge:CopyJudge",
    },
    "exact": {
        "equality": "sit_fairseq.judging.exact_judge:ExactJudge",
    },
    "alpha": {
        "equality": "sit_fairseq.judging.alpha_judge:AlphaJudge",
    },
}


class Judge(ABC):
    """Decides whether an answer to a problem is right.

    A judge is small and picklable: ``JudgePool`` sends it to its workers. One of other semantics
    needs :meth:`verify` alone, and is named by ``MODULE:CLASS``, see :func:`make_judge`.

    Attributes:
        semantics: what problems and answers mean, a key of ``JUDGES`` or ``MODULE:CLASS``.
        name: the judge's name among those of the same semantics.
        quick: True if no item takes longer than some milliseconds, so that a process of
            its own and a time-out are not worth their cost.
        on_references: True if answers are judged against their references, which then take
            the place of the problems in all methods, see :meth:`problems`.
        foreign: tokens by which a model of another logic is known.
        needs: tokens without which a model can give no right answer.
        symbols: pattern of the interchangeable tokens, told by whoever knows it before
            :meth:`problems` is called; few judges ask.
    """

    semantics: str
    name: str
    quick: bool = False
    on_references: bool = False
    foreign: FrozenSet[str] = frozenset()
    needs: FrozenSet[str] = frozenset()
    symbols: Optional[str] = None

    def problems(
        self, sources: Sequence[Sentence], references: Optional[Sequence[Sentence]]
    ) -> Sequence[Sentence]:
        """What answers to sentences are judged against.

        Args:
            sources: the sentences.
            references: a right answer to each, None if they are not known.

        Returns:
            The problems to give to the other methods: sources or references.

        Raises:
            UserError: the judge needs references and there are none.
        """
        if not self.on_references:
            return sources
        if references is None:
            raise UserError(
                f"--semantics {self.semantics} compares answers with references, but the data "
                "have none; name data with targets, or choose another --semantics."
            )
        return references

    def missing(self) -> Optional[str]:
        """What has to be installed before this judge can decide anything, None if nothing."""
        return None

    @abstractmethod
    def verify(self, problem: Sentence, answer: Sentence) -> Verdict:
        """Judges one answer.

        Args:
            problem: the source sentence, see :meth:`problems`.
            answer: the answer given.

        Returns:
            The verdict. A problem or answer that cannot be read is a verdict too.
        """

    def check(self, problem: Sentence) -> None:
        """Checks that a problem can be read; any problem can unless a judge says no.

        Args:
            problem: the source sentence.

        Raises:
            MalformedFormula: it cannot; the message says why.
        """

    def distance(self, problem: Sentence, answer: Sentence) -> Optional[int]:
        """How far an answer is from the right one, where there is only one.

        Args:
            problem: the source sentence.
            answer: the answer given.

        Returns:
            The number of tokens to insert, delete or replace; None if there may be several
            right answers.
        """
        return None


def make_judge(semantics: str, judge: Optional[str] = None, option: str = "--semantics") -> Judge:
    """Makes a judge by name.

    Args:
        semantics: what problems and answers mean, e.g. ``prop``; or ``MODULE:CLASS``, a subclass
            of :class:`Judge` in a module that Python finds from the working directory.
        judge: a judge for it; None for the first one.
        option: the option that names the semantics, for messages.

    Returns:
        The judge.

    Raises:
        UserError: there is no such semantics or no such judge for it, or no such class.
    """
    if ":" in semantics:
        if judge is not None:
            raise UserError(f"{option} {semantics} is a judge already; leave out --judge {judge}.")
        return _own_judge(semantics, option)
    if semantics not in JUDGES:
        raise UserError(
            f"Unknown semantics '{semantics}'; choose {option} from {', '.join(JUDGES)}, or name "
            "a judge of your own by MODULE:CLASS."
        )
    choices = JUDGES[semantics]
    name = judge or next(iter(choices))
    if name not in choices:
        raise UserError(
            f"Unknown judge '{name}' for {semantics}; choose --judge from {', '.join(choices)}."
        )
    module, cls = choices[name].split(":")
    return getattr(import_module(module), cls)()


def _own_judge(semantics: str, option: str) -> Judge:
    module, _, name = semantics.partition(":")
    if os.getcwd() not in sys.path:  # worker processes get the same path
        sys.path.append(os.getcwd())
    try:
        cls = getattr(import_module(module), name)
        judge = cls() if isinstance(cls, type) and issubclass(cls, Judge) else None
    except Exception as error:  # whatever their code raises
        reason = f"{type(error).__name__}: {error}"
        raise UserError(f"{option} {semantics} cannot be used ({reason}); mend {module}.")
    if judge is None:
        raise UserError(
            f"{option} {semantics} is no subclass of sit_fairseq.judging.judge.Judge; name one."
        )
    judge.semantics, judge.name = semantics, name
    return judge


def as_tokens(sentence: Sentence) -> List[str]:
    """Returns the tokens of a sentence given as text or as tokens."""
    return tokenize(sentence) if isinstance(sentence, str) else list(sentence)


class PropJudge(Judge):
    """The rules common to all judges of propositional logic.

    An answer is a sequence of ``symbol value`` pairs, read as the conjunction of these
    literals: ``a 1 c 0`` says a and not c, and leaves every other symbol open. The
    verdict is

    * error, if the formula is malformed (the reason is logged at debug level);
    * invalid, if the answer has an odd number of tokens, a value other than 0 and 1, or
      something that is not a symbol of the formula (as in the published protocol);
    * vacuous, if literals contradict each other (``a 1 a 0``);
    * satisfied, if every total assignment that agrees with the answer satisfies the
      formula, and violated otherwise.

    Repeating a literal is harmless, and the empty answer is right exactly for a
    tautology.
    """

    semantics = "prop"
    foreign = frozenset((*ARITY, *TRACE_MARKS)) - frozenset(OPERATORS)
    needs = frozenset(CONSTANTS)

    def check(self, problem: Sentence) -> None:
        check_propositional(as_tokens(problem))

    def verify(self, problem: Sentence, answer: Sentence) -> Verdict:
        formula = as_tokens(problem)
        try:
            self.check(formula)
        except MalformedFormula as error:
            logger.debug("%s in: %s", error, " ".join(formula))
            return Verdict.error
        try:
            literals = parse_assignment(as_tokens(answer))
        except MalformedAssignment as error:
            logger.debug("%s in: %s", error, answer)
            return Verdict.invalid
        assignment = dict(literals)
        if not set(assignment) <= set(formula_symbols(formula)):
            return Verdict.invalid
        if len(set(literals)) > len(assignment):
            return Verdict.vacuous
        return self.decide(formula, assignment)

    @abstractmethod
    def decide(self, formula: Sequence[str], assignment: Dict[str, str]) -> Verdict:
        """Decides whether an assignment implies a formula.

        Args:
            formula: the tokens of a well-formed formula.
            assignment: from some of its symbols to ``0`` or ``1``.

        Returns:
            ``satisfied`` or ``violated``, or why that cannot be said.
        """
