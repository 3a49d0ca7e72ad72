"""The ladder: lines go through a translator until their placeholders have survived."""

import os
import re
import signal
import subprocess
from collections import Counter
from typing import Callable, Dict, List, NamedTuple, Optional, Pattern, Sequence, Union

from sit_fairseq.domains.placeholders.domain import PlaceholderJudge
from sit_fairseq.domains.placeholders.masks import FORMS, Form, Placeholders, Span, spans
from sit_fairseq.errors import UserError, excerpt
from sit_fairseq.judging.verdict import Verdict

# Takes lines, and returns as many.
Translator = Callable[[List[str]], List[str]]

AS_IS, OFFERED, CUT = "as is", "offered", "cut"


class Protected(NamedTuple):
    """The translation of a line.

    Attributes:
        text: with the placeholders of the line.
        rung: the form of the masks that survived, ``as is`` for a line without placeholders,
            ``offered`` for an answer of a model that knows placeholders, ``cut`` for one whose parts
            between the placeholders were translated.
        verdict: satisfied, or what the judge says of the last try.
    """

    text: str
    rung: str
    verdict: Verdict


class Ladder:
    """Protects the placeholders of lines.

    A line first goes with masks of the first form. If the judge does not accept what comes back, it
    goes again with the next form, then as it is to what the model offers, and at last in pieces, cut at
    its placeholders.

    Args:
        translate: the translator.
        pattern: of the placeholders, see
            :func:`~sit_fairseq.domains.placeholders.masks.placeholder_pattern`.
        forms: of the masks.
        offers: translates lines with their placeholders, for example by
            :meth:`~sit_fairseq.rows.Names.generate` with ``once``; None where nothing does.
    """

    def __init__(
        self,
        translate: Translator,
        pattern: Union[Pattern, Placeholders],
        forms: Sequence[str] = FORMS[:2],
        offers: Optional[Translator] = None,
    ) -> None:
        self._translate, self._pattern, self._offers = translate, pattern, offers
        self._forms = [Form.of(form) for form in forms]
        self._judge = PlaceholderJudge(pattern)

    def __call__(self, lines: Sequence[str]) -> List[Protected]:
        """Translates lines, each rung with one call of the translator."""
        parts = [spans(line, self._pattern) for line in lines]
        found: Dict[int, Protected] = {}
        left = [place for place in range(len(lines)) if parts[place]]
        bare = [place for place in range(len(lines)) if not parts[place]]
        for form in self._forms:
            masked = {place: form.mask(lines[place], parts[place]) for place in left}
            sent = [place for place in left if masked[place] is not None] + bare
            texts = [masked[place] if place in masked else lines[place] for place in sent]
            for place, text in zip(sent, _sent(self._translate, texts)):
                if place in masked:
                    text = form.unmask(lines[place], parts[place], text)
                if text is not None:
                    rung = str(form) if place in masked else AS_IS
                    found[place] = self._judged(lines[place], text, rung)
            bare = []
            left = [place for place in left if not self._accepted(found.get(place))]
        for place, text in zip(bare, _sent(self._translate, [lines[place] for place in bare])):
            found[place] = self._judged(lines[place], text, AS_IS)  # there are no forms
        if self._offers is not None:
            offered = _sent(self._offers, [lines[place] for place in left], "offers")
            for place, text in zip(left, offered):
                found[place] = self._judged(lines[place], text, OFFERED)
            left = [place for place in left if not self._accepted(found[place])]
        pieces = {place: _pieces(lines[place], parts[place]) for place in left}
        texts = [piece.strip() for place in left for piece in pieces[place] if _says(piece)]
        answers = iter(_sent(self._translate, texts))
        for place in left:
            said = [
                (
                    re.sub(r"\S(?:.*\S)?", lambda _: next(answers), piece, count=1, flags=re.DOTALL)
                    if _says(piece)
                    else piece
                )
                for piece in pieces[place]
            ]
            ends = [*(part.text for part in parts[place]), ""]
            text = "".join(piece + end for piece, end in zip(said, ends))
            found[place] = self._judged(lines[place], text, CUT)
        return [found[place] for place in range(len(lines))]

    def texts(self, lines: Sequence[str]) -> List[str]:
        """The translations alone."""
        return [one.text for one in self(lines)]

    def _judged(self, line: str, text: str, rung: str) -> Protected:
        return Protected(text, rung, self._judge.verify(line, text))

    @staticmethod
    def _accepted(one: Optional[Protected]) -> bool:
        return one is not None and one.verdict is Verdict.satisfied


def _sent(translate: Translator, texts: List[str], parameter: str = "translate") -> List[str]:
    """The translations of texts; a UserError if the translator gives fewer or more."""
    found = translate(texts) if texts else []
    if len(found) != len(texts):
        reason = f"the translator gives {len(found)} texts for {len(texts)}"
        raise UserError(reason, parameter)
    return found


def _pieces(line: str, parts: Sequence[Span]) -> List[str]:
    """The text before, between and after the parts of a line."""
    starts = [0, *(part.end for part in parts)]
    ends = [*(part.start for part in parts), len(line)]
    return [line[start:end] for start, end in zip(starts, ends)]


def _says(piece: str) -> bool:
    """Whether there is anything to translate."""
    return any(character.isalpha() for character in piece)


class Trial(NamedTuple):
    """How a translator treats masks of a form.

    Attributes:
        form: or ``as is``.
        kept: lines whose placeholders came back, by their number of placeholders.
        total: lines, likewise.
    """

    form: str
    kept: Counter
    total: Counter

    @property
    def share(self) -> float:
        return sum(self.kept.values()) / max(1, sum(self.total.values()))


def try_forms(
    lines: Sequence[str],
    translate: Translator,
    pattern: Union[Pattern, Placeholders],
    forms: Sequence[str] = FORMS,
) -> List[Trial]:
    """Sends each line with masks of each form, in one call of the translator.

    Returns:
        The trials, the best form first. A line that cannot be masked by a form counts as lost.
    """
    tried = [None, *map(Form.of, forms)]
    parts = {line: spans(line, pattern) for line in lines}
    texts = {
        (form, line): line if form is None else form.mask(line, parts[line])
        for form in tried
        for line in lines
    }
    sent = [key for key, text in texts.items() if text is not None]
    answers = dict(zip(sent, _sent(translate, [texts[key] for key in sent])))
    judge, trials = PlaceholderJudge(pattern), []
    for form in tried:
        kept: Counter = Counter()
        for line in lines:
            text = answers.get((form, line))
            if text is not None and form is not None:
                text = form.unmask(line, parts[line], text)
            if text is not None and judge.verify(line, text) is Verdict.satisfied:
                kept[len(parts[line])] += 1
        total = Counter(len(parts[line]) for line in lines)
        trials.append(Trial(AS_IS if form is None else str(form), kept, total))
    return sorted(trials, key=lambda trial: -trial.share)


class Program:
    """A translator that is a program: a shell command that reads lines and writes as many.

    Args:
        command: is started anew for each call.
        seconds: it may take for a call.
        parameter: that names the command, for errors.

    Raises:
        UserError: when called, the program fails, takes longer, or writes fewer or more lines, or
            none in UTF-8.
    """

    def __init__(self, command: str, seconds: float, parameter: str = "through") -> None:
        self._command, self._seconds, self._parameter = command, seconds, parameter

    def __call__(self, lines: List[str]) -> List[str]:
        text = "".join(f"{line}\n" for line in lines).encode()
        pipe = subprocess.PIPE
        process = subprocess.Popen(
            self._command, shell=True, stdin=pipe, stdout=pipe, start_new_session=True
        )
        try:
            output, _ = process.communicate(text, timeout=self._seconds)
        except subprocess.TimeoutExpired:
            reason = f"has not answered within {self._seconds:g} seconds"
            raise self._error(reason, "seconds")
        finally:
            if process.poll() is None:  # the shell's children, too
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
        if process.returncode:
            raise self._error(f"ended with status {process.returncode}")
        try:
            answers = output.decode().split("\n")
        except UnicodeDecodeError as error:
            raise self._error(
                f"answered what is not UTF-8 in line {output[: error.start].count(10) + 1}"
            )
        answers = [answer.removesuffix("\r") for answer in answers]
        if answers[-1] == "":
            answers.pop()
        if len(answers) != len(lines):
            raise self._error(f"answered {len(answers)} lines to {len(lines)}")
        return answers

    def _error(self, reason: str, *more: str) -> UserError:
        parameters = " ".join([self._parameter, *more])
        return UserError(f"the command {excerpt(self._command)} {reason}", parameters)
