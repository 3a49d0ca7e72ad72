"""Domains and problems of files in PDDL: STRIPS with types and equality, and costs, which are left
out.

Upper and lower case are the same in PDDL; names are kept as the file defines them. Parameters are
called ``?x`` as there.
"""

import codecs
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Dict, FrozenSet, Iterator, List, Mapping, Tuple

from sit_fairseq.domains.planning.pddl_text import PddlText, is_tree, trees, words
from sit_fairseq.domains.planning.strips import Atom, Operator, PlanningDomain, Problem
from sit_fairseq.errors import UserError

# What a domain may have of types, predicates and actions each, and a problem of objects.
_MOST, _MOST_OBJECTS = 100, 10_000

OBJECT = "object"  # the type of all objects


@dataclass(frozen=True)
class PddlDomain:
    """A domain as its file has it.

    Attributes:
        domain: whose operators have types for sorts.
        above: the types that an object of a type has, itself and ``object`` among them.
        constants: the type of each object that all problems have, by its name.
    """

    domain: PlanningDomain
    above: Mapping[str, FrozenSet[str]]
    constants: Mapping[str, str]


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
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise UserError(f"{path} is in UTF-16; save it as UTF-8")
    return re.sub("\r\n?", "\n", data.decode("utf-8-sig", "replace"))


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

    def __contains__(self, word) -> bool:
        return str(word) in self._known

    def __iter__(self) -> Iterator[str]:
        return iter(self._known.values())

    def define(self, word) -> str:
        if word in self:
            raise self._text.refuse(word, f"{self._what} {word} is defined twice")
        if len(self._known) == self._most:
            raise self._text.refuse(word, f"there are more than {self._most:,} {self._what}s")
        return self._known.setdefault(str(word), self._text.spelled(word))

    def find(self, word) -> str:
        if word not in self:
            raise self._text.refuse(word, f"there is no {self._what} {word}")
        return self._known[word]


class _Reader:
    """What domains and problems have in common."""

    def __init__(self, text: PddlText) -> None:
        self._text = text
        self._predicates: Mapping[str, int] = {}

    def typed(self, items: List, types: _Names) -> Iterator[Tuple[object, FrozenSet[str]]]:
        """The words of a list with their types: ``a b - t c``."""
        waiting: List = []
        before = None
        for item in items:
            if before == "-":
                found = frozenset(map(types.find, self._types(item)))
                yield from ((word, found) for word in waiting)
                waiting = []
            elif item != "-":
                waiting.append(item)
            before = item
        yield from ((word, frozenset((OBJECT,))) for word in waiting)

    @staticmethod
    def _types(item) -> List:
        if not is_tree(item):
            return [item]
        return [word for word in words(item) if word not in ("(", ")", "either")]

    def atom(self, tree, term: Callable, predicates: _Names) -> Atom:
        """An atom, with the names of its terms."""
        predicate, *terms = tree.children[1:-1]
        name = predicates.find(predicate)
        if len(terms) != self._predicates[name]:
            reason = f"{predicate} has {self._predicates[name]} objects, not {len(terms)}"
            raise self._text.refuse(predicate, reason)
        return (name, *map(term, terms))

    def literals(self, tree) -> Iterator[Tuple[bool, object]]:
        """The atoms of a conjunction, each with whether it is plain or denied."""
        inner = list(trees(tree))
        said = [word for word in words(tree) if word not in ("(", ")")]
        if tree.data in ("atomic_formula_term", "num_effect"):
            yield True, tree
        elif said == ["not"]:
            (denied,) = inner
            while denied.data == "gd" and len(denied.children) == 1:
                (denied,) = denied.children
            if denied.data != "atomic_formula_term":
                raise self._text.refuse(said[0], "'not' stands before atoms alone")
            yield False, denied
        elif said in ([], ["and"]):
            for one in inner:
                yield from self.literals(one)
        else:
            raise self._text.refuse(said[0], f"{str(said[0])!r} is not known in STRIPS")


class _DomainReader(_Reader):
    def __init__(self, text: PddlText) -> None:
        super().__init__(text)
        self._types_ = _Names(text, "type", _MOST, {OBJECT: 0})
        self._constants = _Names(text, "constant", _MOST_OBJECTS)
        self._names = _Names(text, "predicate", _MOST)

    def read(self) -> PddlDomain:
        tree = self._text.tree
        above = self._hierarchy(tree)
        constants = {}
        for section in trees(tree, "constants"):
            for word, types in self.typed(next(trees(section)).children, self._types_):
                (constants[self._constants.define(word)],) = types
        found: Dict[str, int] = {}
        for section in trees(tree, "predicates"):
            for skeleton in trees(section):
                name = self._names.define(words(skeleton)[1])
                parameters = next(trees(skeleton)).children
                found[name] = sum(1 for _ in self.typed(parameters, self._types_))
        self._predicates = found
        actions = _Names(self._text, "action", _MOST)
        operators = {}
        for derived in trees(tree, "derived_predicates"):
            raise self._text.refuse(derived, "derived predicates are not known")
        for action in trees(tree, "action_def"):
            name = actions.define(words(action)[2])
            operators[name] = self._operator(name, action)
        (title,) = (words(one)[2] for one in trees(tree, "domain_def"))
        domain = PlanningDomain(self._text.spelled(title), found, operators)
        return PddlDomain(domain, above, constants)

    def _hierarchy(self, tree) -> Dict[str, FrozenSet[str]]:
        """The types above each type, itself among them."""
        listed = [one for s in trees(tree, "types") for one in next(trees(s)).children]
        for at, word in enumerate(listed):
            if word != "-" and word != OBJECT and listed[at - 1 : at] != ["-"]:
                self._types_.define(word)
        # A type that stands above others alone is defined by that.
        for before, word in zip(listed, listed[1:]):
            if before == "-" and word not in self._types_:
                self._types_.define(word)
        parents: Dict[str, FrozenSet[str]] = {OBJECT: frozenset()}
        for word, types in self.typed(listed, self._types_):
            if word != OBJECT:
                parents[self._types_.find(word)] = types
        above = {}
        for name in self._types_:
            found, left = {name, OBJECT}, [name]
            while left:
                new = parents.get(left.pop(), frozenset()) - found
                found |= new
                left += new
            above[name] = frozenset(found)
        return above

    def _operator(self, name: str, tree) -> Operator:
        listed = next(trees(next(trees(tree, "action_parameters")))).children
        names = _Names(self._text, "parameter", _MOST)
        parameters = {
            f"?{names.define(word)}": types for word, types in self.typed(listed, self._types_)
        }

        def term(word) -> str:
            if is_tree(word):
                return self._constants.find(word.children[0])
            return f"?{names.find(word)}"

        before, without, add, delete, distinct = [], [], [], [], []
        for body in trees(tree, "action_body_def"):
            for condition in trees(body, "emptyor_pregd"):
                for holds, atom in self.literals(condition):
                    if words(atom)[1] != "=":
                        (before if holds else without).append(self.atom(atom, term, self._names))
                    elif holds:
                        raise self._text.refuse(atom, "equality is known after 'not' alone")
                    else:
                        distinct.append(tuple(map(term, atom.children[2:-1])))
            for effect in trees(body, "emptyor_effect"):
                for holds, atom in self.literals(effect):
                    if atom.data != "num_effect":
                        (add if holds else delete).append(self.atom(atom, term, self._names))
                    elif words(next(trees(atom, "f_head")))[-2:-1] != ["total-cost"]:
                        raise self._text.refuse(atom, "of numbers the total-cost alone is known")
        atoms = (tuple(dict.fromkeys(some)) for some in (before, add, delete, without))
        return Operator(name, parameters, *atoms, distinct=tuple(dict.fromkeys(distinct)))


class _ProblemReader(_Reader):
    def __init__(self, text: PddlText, domain: PddlDomain) -> None:
        super().__init__(text)
        self._domain, self._predicates = domain, domain.domain.predicates
        self._names = _Names(text, "predicate", _MOST, self._predicates)

    def read(self) -> PddlProblem:
        tree, known = self._text.tree, dict(self._domain.constants)
        names = _Names(self._text, "object", _MOST_OBJECTS, known)
        types = _Names(self._text, "type", _MOST, self._domain.above)
        for section in trees(tree, "objects"):
            for word, found in self.typed(next(trees(section)).children, types):
                (known[names.define(word)],) = found

        def term(word) -> str:
            return names.find(word.children[0] if is_tree(word) else word)

        initial, goal = set(), set()
        for section in trees(tree, "init"):
            for element in trees(section):
                for literal in trees(element, "literal_name"):
                    (atom,) = trees(literal)
                    if len(literal.children) == 1:  # what is denied does not hold anyway
                        initial.add(self.atom(atom, term, self._names))
        for section in trees(tree, "goal"):
            for holds, atom in self.literals(section.children[2]):
                if not holds or words(atom)[1] == "=":
                    raise self._text.refuse(atom, "a goal of STRIPS has atoms without 'not' or '='")
                goal.add(self.atom(atom, term, self._names))
        return PddlProblem(self._domain, Problem(known, frozenset(initial), frozenset(goal)))
