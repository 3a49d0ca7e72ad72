"""Finds the placeholders of a text, and replaces them by masks that a translator may keep.

A mask is a text with a number, such as ``PH1``: the number says which placeholder of the line it
stands for.
"""

import re
from typing import Dict, Iterator, List, Match, NamedTuple, Optional, Pattern, Sequence, Union

from sit_fairseq.errors import UserError

# A letter or digit of Latin, Greek or Cyrillic. In other scripts letters beside a conversion are words.
_LETTER = r"[^\W\u0590-\U0010ffff]"

_NESTED = r"\{[^{}]*\}"
for _ in range(8):  # a plural in a select has five levels
    _NESTED = rf"\{{(?:[^{{}}]|{_NESTED})*\}}"

# What no URL holds: spaces, quotes, and the marks of Chinese and Japanese.
_AFTER = r"\s<>\"'»“”\u3000-\u303f\uff01-\uff65"

# The kinds of placeholders, by name.
KINDS: Dict[str, str] = {
    # Conversions of C, Java and Python. No flag is a space: "100 % sure" has none.
    "printf": r"%(?:\d+\$|\([^()]+\)|<(?![^<>]*>))?[-+#0',]*(?:\d+|\*)?(?:\.(?:\d+|\*))?"
    r"(?:(?:hh|h|ll|l|q|j|z|t|L)?[diouxXeEfFgGaAcCsSpnrbB@%]|[tT][A-Za-z])",
    "icu": rf"[$%#]?{_NESTED}",
    "tags": r"</?[A-Za-z][^<>]*>|&(?:#\d+|#[xX][0-9A-Fa-f]+|[A-Za-z]\w*);",
    "urls": rf"(?:https?|ftp)://[^{_AFTER}]*[^{_AFTER}.,;:!?)\]]"
    rf"|(?:{_LETTER}|[.+-])+@(?:{_LETTER}|-)+(?:\.(?:{_LETTER}|-)+)+",
}

_TAG = re.compile(r"<(/?)([A-Za-z][^\s/<>]*)[^<>]*?(/?)>")

# Forms of masks, the most reliable one first: what a translator makes of each depends on it alone.
FORMS = (
    *("PH1", "[1]", "XX1", "$1", "__PH1__", "%1$s", "{1}", "<x1>", "<1>", "###T1###", "@@PH1@@"),
    *("#1", "(1)"),
)

# Quotes and brackets that belong to what they enclose.
_PAIRS = {'"': '"', "'": "'", "“": "”", "‘": "’", "«": "»", "„": "“", "`": "`", "(": ")", "[": "]"}


class Placeholders(NamedTuple):
    """Several patterns as one, each with groups and flags of its own."""

    patterns: Sequence[Pattern]

    def finditer(self, text: str) -> Iterator[Match]:
        """Their matches that hold something, of two that overlap the first."""
        place = 0
        while True:
            found = [filter(Match.group, one.finditer(text, place)) for one in self.patterns]
            first = min(
                filter(None, (next(one, None) for one in found)), key=Match.start, default=None
            )
            if first is None:
                return
            yield first
            place = first.end()


def placeholder_pattern(patterns: Sequence[str] = tuple(KINDS)) -> Placeholders:
    """The pattern of all placeholders of some kinds, of :data:`KINDS` or regular expressions; a
    UserError for an expression that cannot be read, or matches the empty text."""
    found = []
    for given in patterns:
        try:
            found.append(re.compile(KINDS.get(given, given)))
        except re.error as error:
            known = ", ".join(KINDS)
            reason = f"is none of {known}, and no regular expression ({error})"
            raise UserError(f"{given!r} {reason}", "pattern")
        if found[-1].match(""):
            raise UserError(f"{given!r} matches the empty text, so it says nothing", "pattern")
    return Placeholders(found)


def in_order(placeholder: str) -> bool:
    """Whether a placeholder is told from others by its place alone, as ``%s``, ``%<s`` and ``{:d}`` are,
    and ``%1``, ``%{name}`` and ``%%`` are not."""
    told = r"\d+\$|[({]|<\w+>|L?\d+$|\w*%$"
    return re.fullmatch(rf"%(?!{told}).*|\{{([:!].*)?\}}", placeholder, re.DOTALL) is not None


def nested(placeholders: Sequence[str]) -> bool:
    """Whether tags close in the reverse order in which they open. One such as ``<br>`` need not close."""
    still_open: List[str] = []
    for tag in filter(None, map(_TAG.fullmatch, placeholders)):
        if not tag[1]:
            still_open += [tag[2]] * (not tag[3])
        elif tag[2] not in still_open:
            return False
        else:
            del still_open[len(still_open) - 1 - still_open[::-1].index(tag[2]) :]
    return True


class Span(NamedTuple):
    """A part of a line that a mask replaces.

    Attributes:
        start, end: its place in the line.
        text: what it holds.
        ordered: whether it holds a placeholder that is told by its place.
    """

    start: int
    end: int
    text: str
    ordered: bool


def spans(line: str, pattern: Union[Pattern, Placeholders]) -> List[Span]:
    """The parts of a line to be masked: placeholders, with the quotes around one, as in ``"%s"``, and
    with the letters, digits and ``%%`` that stand directly at a conversion, as in ``file%d%%``."""
    found: List[Span] = []
    last = 0  # the end of the part before
    for match in pattern.finditer(line):
        start, end = match.span()
        ordered = in_order(match.group())
        if match.group()[0] == "%" and match.group()[-1] != "}":
            start -= len(re.search(rf"{_LETTER}*\Z", line[last:start])[0]) if start > last else 0
            end += len(re.match(rf"{_LETTER}*", line[end:])[0])
        if last < start and _PAIRS.get(line[start - 1]) == line[end:][:1]:
            start, end = start - 1, end + 1
        if start < last or start == last > 0 and match.group() == "%%":  # one word has both
            before = found.pop()
            start, ordered = before.start, ordered or before.ordered
        last = max(end, last)
        found.append(Span(start, last, line[start:last], ordered))
    return found


class Form(NamedTuple):
    """A form of masks.

    Attributes:
        before, after: the text around the number.
    """

    before: str
    after: str

    @classmethod
    def of(cls, text: str) -> "Form":
        """Reads a mask of the number 1, ``PH1``; a UserError if it holds no 1, or more."""
        before, *after = text.split("1")
        one = len(after) == 1 and (before + after[0]).strip() and not before[-1:].isdigit()
        if not (one and text.isprintable()):
            reason = "is no form of masks: give one with the number 1, such as PH1"
            raise UserError(f"{text!r} {reason}", "form")
        return cls(before, after[0])

    def __str__(self) -> str:
        return f"{self.before}1{self.after}"

    def pattern(self) -> Pattern:
        """Masks of this form in a translation, whatever their case and inner spaces."""
        inner = r"\s?".join(map(re.escape, self.before))
        after = r"\s?".join(map(re.escape, self.after))
        inner, after = (inner and inner + r"\s?"), (after and r"\s?" + after)
        return re.compile(rf"{inner}(\d+){after}", re.IGNORECASE)

    def mask(self, line: str, parts: Sequence[Span]) -> Optional[str]:
        """The line with masks in place of its parts; None if they could not be told from the text, as
        where the line holds such a mask already."""
        pieces, place = [], 0
        for number, part in enumerate(parts, 1):
            pieces += [line[place : part.start], f"{self.before}{number}{self.after}"]
            place = part.end
        masked = "".join([*pieces, line[place:]])
        return masked if self.unmask(line, parts, masked) == line else None

    def unmask(self, line: str, parts: Sequence[Span], translation: str) -> Optional[str]:
        """The translation of a masked line with its parts put back, and a space where the line has
        one between a part and a word.

        Returns:
            None unless each mask is there once, and masks of ordered parts in their order.
        """
        found = list(self.pattern().finditer(translation))
        numbers = [int(match[1]) for match in found]
        ordered = [number for number in numbers if 0 < number <= len(parts)]
        ordered = [number for number in ordered if parts[number - 1].ordered]
        if sorted(numbers) != list(range(1, len(parts) + 1)) or ordered != sorted(ordered):
            return None
        pieces, place = [], 0
        for number, match in zip(numbers, found):
            part, before = parts[number - 1], translation[place : match.start()]
            spaced = not line[: part.start][-1:].isalnum() and before[-1:].isalnum()
            after = translation[match.end() :][:1].isalnum()
            spaced_after = after and not line[part.end :][:1].isalnum()
            pieces += [before, " " * spaced, part.text, " " * spaced_after]
            place = match.end()
        return "".join([*pieces, translation[place:]])
