"""Texts in PDDL as words and groups in parentheses, each with its place."""

import re
from typing import Dict, List, Union

from sit_fairseq.errors import UserError, excerpt

# What a file may have at most: characters, and parentheses within each other.
_LONGEST, _DEEPEST = 2_000_000, 50

_TOKEN = re.compile(r"[()]|;[^\n]*|[^\s();]+")


class Word(str):
    """A word in lower case: PDDL's ``Drive`` is ``drive``. ``start`` is its place in the text."""

    __slots__ = ("start",)


class Group(list):
    """The words and groups between two parentheses. ``start`` is the place of the first one."""

    __slots__ = ("start",)


class PddlText:
    """A domain or a problem, taken apart.

    Args:
        text: ``(define (domain NAME) (:predicates ...) ...)``, or a problem.
        kind: ``domain`` or ``problem``.
        name: of the file, for errors.

    Attributes:
        title: the name of the domain or problem.

    Raises:
        UserError: names the file, line and column of what is not understood.
    """

    def __init__(self, text: str, kind: str, name: str) -> None:
        self.name, self._text, self._kind = name, text, kind
        if len(text) > _LONGEST:
            raise UserError(f"{name} has more than {_LONGEST:,} characters")
        whole = self._groups()
        begun = whole[0][:2] if whole and isinstance(whole[0], Group) else []
        head = begun[1] if begun[:1] == ["define"] and isinstance(begun[-1], Group) else []
        if head[:1] != [kind] or len(head) != 2 or not isinstance(head[1], Word):
            at = whole[0] if whole else whole
            raise self.refuse(at, f"a {kind} begins with (define ({kind} NAME)")
        if len(whole) > 1:
            raise self.refuse(whole[1], f"the {kind} has ended")
        self.title, self._sections = head[1], whole[0][2:]

    def sections(self, *known: str) -> Dict[str, List[Group]]:
        """The sections of each known name, such as ``:init``."""
        found: Dict[str, List[Group]] = {name: [] for name in known}
        for group in self._sections:
            if not isinstance(group, Group) or not group:
                raise self.refuse(group, "a section such as (:init ...) stands here")
            if group[0] not in known:
                reason = f"{group[0]!r} is no section of a {self._kind} of STRIPS"
                raise self.refuse(group[0], reason)
            found[group[0]].append(group)
        return found

    def refuse(self, at: Union[Word, Group], reason: str) -> UserError:
        """The error that names the place of a word or group, and a reason."""
        line, before = self._text.count("\n", 0, at.start) + 1, self._text[: at.start]
        place = f"{self.name}, line {line}, column {at.start - before.rfind(chr(10))}"
        return UserError(f"{place}: {reason}")

    def spelled(self, word: Word) -> str:
        """A word as the file writes it."""
        return self._text[word.start : word.start + len(word)]

    def _groups(self) -> Group:
        """The groups of the whole text."""
        whole = Group()
        whole.start = 0
        within = [whole]
        for token in _TOKEN.finditer(self._text):
            text = token[0]
            if text[0] == ";":
                continue
            item = Group() if text == "(" else Word(text.lower())
            item.start = token.start()
            if text == ")":
                if len(within) == 1:
                    raise self.refuse(item, "')' closes nothing")
                within.pop()
                continue
            if "\ufffd" in text:  # stands for what is not UTF-8, so that two names could be one
                raise self.refuse(item, f"{excerpt(text)} is not UTF-8; convert the file to UTF-8")
            if not text.isprintable() or len(text) != len(text.lower()):
                raise self.refuse(item, f"{excerpt(text)} is no name")
            within[-1].append(item)
            if text == "(":
                within.append(item)
            if len(within) - 1 > _DEEPEST:
                raise self.refuse(item, f"{_DEEPEST} parentheses stand around it already")
        if len(within) > 1:
            raise self.refuse(within[-1], "'(' is closed nowhere")
        return whole
