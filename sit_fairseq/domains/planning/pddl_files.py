"""Domains and problems of files in PDDL: STRIPS with types, constants, equality, preconditions and
goals after ``not``, and action costs, which are ignored.

Sections stand in any order. A requirement is not checked: what STRIPS lacks is refused where it
stands. Upper and lower case are the same in PDDL; names are kept as the file defines them.
Parameters are called ``?x`` as there.
"""

import re
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Callable, Dict, FrozenSet, Iterator, List, Mapping, Sequence, Tuple, Union

from sit_fairseq.domains.planning.pddl_text import Group, PddlText, Word
from sit_fairseq.domains.planning.strips import Atom, Operator, PlanningDomain, Problem
from sit_fairseq.errors import UserError
from sit_fairseq.storage.files import typed_text

# What a domain may have of types, predicates and actions each, and a problem of objects.
_MOST, _MOST_OBJECTS = 100, 10_000

OBJECT = "object"  # the type of all objects

Item = Union[Word, Group]

# What may stand in the place of an atom elsewhere in PDDL.
_OTHERS = ("or", "imply", "forall", "exists", "when", "preference", "probabilistic")
_OTHERS += ("<", "<=", ">", ">=", "assign", "decrease", "scale-up", "scale-down")


@dataclass(frozen=True)
class PddlDomain:
    """A domain as its file has it.

    Attributes:
        domain: whose operators have types for sorts.
        above: the types that an object of a type has, itself and ``object`` among them. An object of
            ``(either t u)`` has both.
        constants: the type of each object that all problems have, by its name.
        costs: whether some action has a cost.
    """

    domain: PlanningDomain
    above: Mapping[str, FrozenSet[str]]
    constants: Mapping[str, str]
    costs: bool


@dataclass(frozen=True)
class PddlProblem:
    """A problem as its file has it: the sorts of its objects are types."""

    domain: PddlDomain
    problem: Problem


def read_text(path: str) -> str:
    """The text of a file, with line ends of one kind; a UserError if it cannot be read."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}")
    return re.sub("\r\n?", "\n", typed_text(data, path))


def read_domain(text: str, name: str) -> PddlDomain:
    """Reads a domain; a UserError names the file, line and column of what is not understood."""
    return _DomainReader(PddlText(text, "domain", name)).read()


def read_problem(text: str, name: str, domain: PddlDomain) -> PddlProblem:
    """Reads a problem of a domain; a UserError names the place of what is not understood."""
    return _ProblemReader(PddlText(text, "problem", name), domain).read()


class _Names:
    """Names that are defined once, by their lower case."""

    def __init__(self, text: PddlText, what: str, most: int, given: Mapping[str, object] = {}):
        self._text, self._what, self._most = text, what, most
        self._known = {name.lower(): name for name in given}

    def __contains__(self, word: Item) -> bool:
        return isinstance(word, Word) and word in self._known

    def __iter__(self) -> Iterator[str]:
        return iter(self._known.values())

    def define(self, word: Item) -> str:
        if not isinstance(word, Word) or (word[0] == "?") != (self._what == "parameter"):
            raise self._text.refuse(word, f"the name of the {self._what} stands here")
        if word in self:
            raise self._text.refuse(word, f"{self._what} {word} is defined twice")
        if len(self._known) == self._most:
            raise self._text.refuse(word, f"there are more than {self._most:,} {self._what}s")
        return self._known.setdefault(word, self._text.spelled(word))

    def find(self, word: Item) -> str:
        if not isinstance(word, Word):
            raise self._text.refuse(word, f"the name of the {self._what} stands here")
        if word not in self:
            raise self._text.refuse(word, f"there is no {self._what} {word}")
        return self._known[word]


class _Reader:
    """The common part of the readers of domains and problems."""

    known: Tuple[str, ...]  # names of sections

    def __init__(
        self,
        text: PddlText,
        above: Mapping[str, FrozenSet[str]] = {OBJECT: frozenset((OBJECT,))},
        arity: Mapping[str, int] = {},
        objects: Mapping[str, str] = {},
    ) -> None:
        self._text, self._sections = text, text.sections(*self.known)
        self._above, self._arity, self._sorts = dict(above), dict(arity), dict(objects)
        self._types = _Names(text, "type", _MOST, above)
        self._predicates = _Names(text, "predicate", _MOST, arity)
        self._objects = _Names(text, "object", _MOST_OBJECTS, objects)

    def section(self, name: str) -> List[Item]:
        """The items in all sections of a name."""
        return [item for group in self._sections[name] for item in group[1:]]

    def typed(self, items: Sequence[Item]) -> Iterator[Tuple[Word, Sequence[Item]]]:
        """The names of a list, each with the types after it: ``a b - t c - (either t u)``."""
        waiting: List[Word] = []
        left = iter(items)
        for item in left:
            if not isinstance(item, Word):
                raise self._text.refuse(item, "a name stands here")
            if item != "-":
                waiting.append(item)
                continue
            types = next(left, None)
            if isinstance(types, Word):
                types = [types]
            else:
                types = types[1:] if types and types[0] == "either" else []
            if not types or not waiting:
                raise self._text.refuse(item, "'-' stands between names and their type")
            yield from ((name, types) for name in waiting)
            waiting = []
        yield from ((name, ()) for name in waiting)

    def sorts(self, types: Sequence[Item]) -> FrozenSet[str]:
        """Types that are defined, ``object`` if there are none."""
        return frozenset(map(self._types.find, types)) or frozenset((OBJECT,))

    def objects(self, items: Sequence[Item]) -> None:
        """Notes objects; one that stands twice is of the narrower type."""
        for name, types in self.typed(items):
            new, known = self._one(self.sorts(types)), name in self._objects
            found = self._objects.find(name) if known else self._objects.define(name)
            old = self._sorts.setdefault(found, new)
            if old in self._above[new]:
                self._sorts[found] = new
            elif new not in self._above[old]:
                raise self._text.refuse(name, f"object {name} is of type {old} and of type {new}")

    def _one(self, types: FrozenSet[str]) -> str:
        """The type of an object of certain types."""
        if len(types) == 1:
            return min(types)
        name = f"(either {' '.join(sorted(types))})"
        self._above[name] = frozenset((name,)).union(*map(self._above.get, types))
        return name

    def group(self, item: Item) -> Group:
        """The item itself, if it is a group with something in it, else a UserError."""
        if not isinstance(item, Group) or not item:
            raise self._text.refuse(item, "an atom such as (on a b) stands here")
        return item

    def atom(self, item: Item, term: Callable[[Item], str]) -> Atom:
        """An atom, with the names of its terms."""
        predicate, *terms = self.group(item)
        name = self._predicates.find(predicate)
        if len(terms) != self._arity[name]:
            reason = f"{predicate} has {self._arity[name]} objects, not {len(terms)}"
            raise self._text.refuse(predicate, reason)
        return (name, *map(term, terms))

    def pair(self, item: Group, term: Callable[[Item], str]) -> Tuple[str, str]:
        """The two terms of an equality."""
        if len(item) != 3:
            raise self._text.refuse(item, f"'=' has 2 objects, not {len(item) - 1}")
        return term(item[1]), term(item[2])

    def literals(self, items: Sequence[Item]) -> Iterator[Tuple[bool, Group]]:
        """The atoms of conjunctions, each with whether it is plain or denied."""
        for item in items:
            if isinstance(item, Group) and item[:1] in ([], ["and"]):
                yield from self.literals(item[1:])
                continue
            holds = self.group(item)[0] != "not"
            if not holds and len(item) != 2:
                raise self._text.refuse(item, "'not' stands before one atom")
            atom = item if holds else self.group(item[1])
            if atom[0] in _OTHERS and atom[0] not in self._predicates:
                raise self._text.refuse(atom[0], f"{atom[0]!r} is not known in STRIPS")
            if atom[0] in ("and", "not"):
                raise self._text.refuse(item, "'not' stands before one atom")
            yield holds, atom


class _DomainReader(_Reader):
    known = (":requirements", ":types", ":constants", ":predicates", ":functions", ":action")

    def read(self) -> PddlDomain:
        self._hierarchy()
        self.objects(self.section(":constants"))
        for item in self.section(":predicates"):
            predicate, *parameters = self.group(item)
            name = self._predicates.define(predicate)
            self._arity[name] = len([self.sorts(types) for _, types in self.typed(parameters)])
        names, self._costs = _Names(self._text, "action", _MOST), False
        operators = {}
        for group in self._sections[":action"]:
            name = names.define(group[1] if len(group) > 1 else group)
            operators[name] = self._operator(name, group)
        domain = PlanningDomain(self._text.spelled(self._text.title), self._arity, operators)
        return PddlDomain(domain, self._above, self._sorts, self._costs)

    def _hierarchy(self) -> None:
        """Notes the types above each type, itself among them."""
        listed = [(name, above) for name, above in self.typed(self.section(":types"))]
        for name, _ in listed:
            if name != OBJECT and name not in self._types:
                self._types.define(name)
        # A type that stands above others alone is defined by that.
        for above in (above for _, some in listed for above in some):
            if above not in self._types:
                self._types.define(above)
        parents: Dict[str, FrozenSet[str]] = {}
        for word, above in listed:  # a type that stands twice is of both
            name = self._types.find(word)
            parents[name] = parents.get(name, frozenset()) | self.sorts(above)
        for name in self._types:
            found, left = {name, OBJECT}, [name]
            while left:
                new = parents.get(left.pop(), frozenset()) - found
                found |= new
                left += new
            self._above[name] = frozenset(found)

    def _operator(self, name: str, group: Group) -> Operator:
        known, parts = (":parameters", ":precondition", ":effect"), {}
        for key, value in zip_longest(group[2::2], group[3::2]):
            named = isinstance(key, Word) and key in known and key not in parts
            if not named or not isinstance(value, Group):
                reason = f"an action has {', '.join(known)}, each once and with parentheses"
                raise self._text.refuse(key, reason)
            parts[key] = value
        listed, condition, effect = (parts.get(key, Group()) for key in known)
        names = _Names(self._text, "parameter", _MOST)
        parameters = {names.define(word): self.sorts(types) for word, types in self.typed(listed)}

        def term(item: Item) -> str:
            return (names if item[:1] == "?" else self._objects).find(item)

        before, without, add, delete, same, distinct = [], [], [], [], [], []
        for holds, atom in self.literals([condition]):
            if atom[0] != "=":
                (before if holds else without).append(self.atom(atom, term))
            else:
                (same if holds else distinct).append(self.pair(atom, term))
        for holds, atom in self.literals([effect]):
            if atom[0] != "increase":
                (add if holds else delete).append(self.atom(atom, term))
            elif len(atom) != 3 or atom[1] != ["total-cost"]:
                raise self._text.refuse(atom, "of numbers the total-cost alone is known")
            else:
                self._costs = True
        lists = (before, add, delete, without, distinct, same)
        return Operator(name, parameters, *(tuple(dict.fromkeys(some)) for some in lists))


class _ProblemReader(_Reader):
    known = (":domain", ":requirements", ":objects", ":init", ":goal", ":metric", ":length")

    def __init__(self, text: PddlText, domain: PddlDomain) -> None:
        super().__init__(text, domain.above, domain.domain.predicates, domain.constants)
        self._domain = domain

    def read(self) -> PddlProblem:
        for name in (":init", ":goal"):
            if not self._sections[name]:
                raise UserError(f"{self._text.name}: the problem has no ({name} ...)")
            for another in self._sections[name][1:]:
                raise self._text.refuse(another, f"this is a second ({name} ...)")
        self.objects(self.section(":objects"))
        initial, goal, without = set(), set(), set()
        for holds, item in self.literals(self.section(":init")):
            if item[0] != "=":  # a number, such as a cost
                atom = self.atom(item, self._objects.find)
                initial.update([atom] if holds else [])  # what is denied does not hold anyway
        for holds, item in self.literals(self.section(":goal")):
            if item[0] != "=":
                (goal if holds else without).add(self.atom(item, self._objects.find))
                continue
            one, other = self.pair(item, self._objects.find)
            if (one == other) != holds:
                raise self._text.refuse(item, "this part of the goal never holds")
        problem = Problem(self._sorts, *map(frozenset, (initial, goal, without)))
        return PddlProblem(replace(self._domain, above=self._above), problem)
