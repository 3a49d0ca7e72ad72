"""Texts in PDDL, taken apart by the grammar of the library `pddl` and the parser `lark`.

Three libraries were tried on the domains and problems of PlanBench and of SymT; the page
``examples/planning`` has the numbers. The classes of `pddl` refuse the two domains that `tarski` has
written (an empty ``(:functions)``), and forget on which line a word stands; its grammar reads all
files once empty sections are left out. `unified-planning` refuses the same two, is slow, and brings
`scipy` and `networkx`. `tarski` reads all, but needs another version of `antlr4-python3-runtime` than
fairseq's `hydra-core`.
"""

import re
from functools import lru_cache
from importlib.resources import files
from typing import Iterator, List

from sit_fairseq.errors import EXTRAS, UserError, excerpt, missing

EXTRAS["planning"] = ("lark", "pddl")

# What a file may have at most: characters, and parentheses within each other.
_LONGEST, _DEEPEST = 250_000, 50

REQUIREMENTS = (":strips", ":typing", ":equality", ":negative-preconditions", ":action-costs")

# ASCII alone, so that a word stays where it is.
_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_EMPTY = re.compile(r"\(\s*:(?:types|constants|predicates|functions|objects)\s*\)")


class PddlText:
    """A text in PDDL, as a tree of rules and words.

    A word is a token of lower case, PDDL's ``Drive`` is ``drive``; :meth:`spelled` gives it back as
    it was written.

    Args:
        text: a domain or a problem.
        kind: ``domain`` or ``problem``.
        name: of the file, for errors.

    Raises:
        UserError: names the file, line and column of what is not understood.
    """

    def __init__(self, text: str, kind: str, name: str) -> None:
        self.name, self._text = name, text
        if len(text) > _LONGEST:
            raise UserError(f"{name} has more than {_LONGEST:,} characters")
        plain = re.sub(r";[^\n]*", _blank, text).translate(_LOWER)
        self._check_nesting(plain)
        self._check_requirements(plain)
        self.tree = self._parsed(_EMPTY.sub(_blank, plain), kind)

    def refuse(self, word, reason: str) -> UserError:
        """The error that names the place of a word, or of a tree, and a reason."""
        return self._refuse_at(getattr(word, "meta", word).start_pos, reason)

    def spelled(self, word) -> str:
        """A word as the file writes it."""
        return self._text[word.start_pos : word.end_pos]

    def _refuse_at(self, at: int, reason: str) -> UserError:
        line, start = self._text.count("\n", 0, at) + 1, self._text.rfind("\n", 0, at)
        return UserError(f"{self.name}, line {line}, column {at - start}: {reason}")

    def _check_nesting(self, plain: str) -> None:
        depth = 0
        for found in re.finditer(r"[()]", plain):
            depth += 1 if found[0] == "(" else -1
            if depth > _DEEPEST:
                reason = f"more than {_DEEPEST} parentheses stand within each other"
                raise self._refuse_at(found.start(), reason)

    def _check_requirements(self, plain: str) -> None:
        for section in re.finditer(r"\(\s*:requirements([^()]*)", plain):
            for word in re.finditer(r"\S+", section[1]):
                if word[0] not in REQUIREMENTS:
                    known = ", ".join(REQUIREMENTS)
                    reason = f"the requirement {excerpt(word[0])} is not known, but {known}"
                    raise self._refuse_at(section.start(1) + word.start(), reason)

    def _parsed(self, plain: str, kind: str):
        parser = _parser(kind)  # says so if lark is missing
        from lark.exceptions import UnexpectedCharacters, UnexpectedToken

        try:
            return parser.parse(plain)
        except UnexpectedCharacters as error:
            at = error.pos_in_stream
        except UnexpectedToken as error:
            if error.token.type == "$END":
                raise UserError(f"{self.name}: the {kind} has no end")
            at = error.token.start_pos
        word = re.compile(r"[^\s()]+|.").match(self._text, at)[0]
        raise self._refuse_at(at, f"{excerpt(word)} cannot stand here in a {kind} of STRIPS")


def _blank(match: "re.Match[str]") -> str:
    return re.sub(r"[^\n]", " ", match[0])


@lru_cache(maxsize=2)
def _parser(kind: str):
    try:
        from lark import Lark

        grammar = files("pddl.parser").joinpath("grammar.lark").read_text(encoding="utf-8")
    except ModuleNotFoundError as error:
        raise missing(error)
    return Lark(grammar, parser="lalr", start=kind, propagate_positions=True)


def is_tree(child) -> bool:
    """Whether what stands below a tree is one, and no word."""
    return hasattr(child, "children")


def words(tree) -> List:
    """The words right below a tree."""
    return [child for child in tree.children if child is not None and not is_tree(child)]


def trees(tree, *rules: str) -> Iterator:
    """The trees right below a tree, of some rules if these are named."""
    return (t for t in tree.children if is_tree(t) and (not rules or t.data in rules))
