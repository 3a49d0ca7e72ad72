"""Domains known by their structure: whatever a file calls its predicates and actions.

A domain of a file is one that a model has learnt if their actions are the same up to the names of
predicates, actions and constants, and up to the order of definitions, parameters and objects of
predicates. Then kinds of objects are sorts: those that may be the same parameters of the same actions.
A file may ask in addition that two parameters differ. Where all names are equal, the first way to see
a domain is that each is itself.
"""

from dataclasses import dataclass, replace
from itertools import permutations, takewhile
from typing import (
    Dict,
    FrozenSet,
    Iterable,
    Iterator,
    List,
    Mapping,
    Optional,
    Sequence,
    Set,
    Tuple,
)

from sit_fairseq.domains.planning.kinds import by_kind, lacking, roles
from sit_fairseq.domains.planning.learnt import Learnt
from sit_fairseq.domains.planning.pddl_files import PddlProblem
from sit_fairseq.domains.planning.strips import Action, Atom, Operator, PlanningDomain, Problem
from sit_fairseq.errors import UserError

# Steps of a search for what corresponds, after which domains count as different.
_STEPS = 100_000

# Of a known operator, or of a predicate: the name in the file, and which place there each of its
# parameters or objects has, from 0.
Names = Mapping[str, Tuple[str, Tuple[int, ...]]]

# A sort, and the predicates that are told of an object.
_Sort = Tuple[str, FrozenSet[str]]


@dataclass(frozen=True)
class Match:
    """A problem of a file as one of a domain that a model has learnt, the known domain.

    Attributes:
        learnt: the known domain.
        domain: likewise; its operators have the constants of the file, and keep what the file asks to
            differ or to be the same.
        problem: in the names of the known domain, but for the names of objects.
        operators: what the file calls the operators, and the order of their parameters there.
        predicates: the same of predicates and their objects.
        sorts: the sort of each kind of objects of the file.
    """

    learnt: Learnt
    domain: PlanningDomain
    problem: Problem
    operators: Names
    predicates: Names
    sorts: Mapping[str, str]

    def in_file(self, action: Action) -> Action:
        """An action of the known domain as the file has it."""
        return _ordered(action, *self.operators[action[0]])

    def __str__(self) -> str:
        named = [*self.operators.items(), *self.predicates.items()]
        pairs = (f"{name} = {other}{_turned(places)}" for name, (other, places) in named)
        sorts = (f"{sort} = {kind}" for kind, sort in self.sorts.items() if kind)
        return f"{self.domain.name}: {', '.join([*pairs, *sorts])}"


def _ordered(atom: Atom, name: str, places: Tuple[int, ...]) -> Atom:
    """An atom by another name, with its objects in other places."""
    objects = dict(zip(places, atom[1:]))
    return (name, *(objects[place] for place in range(len(places))))


def _turned(places: Tuple[int, ...]) -> str:
    """The places as people count them, if their order changes."""
    changed = places != tuple(range(len(places)))
    return f" {' '.join(str(place + 1) for place in places)}" if changed else ""


def match(
    read: PddlProblem, name: str, learnt: Sequence[Learnt], by_structure: bool = True
) -> Match:
    """The first of :func:`matches`."""
    return next(matches(read, name, learnt, by_structure))


def matches(
    read: PddlProblem, name: str, learnt: Sequence[Learnt], by_structure: bool = True
) -> Iterator[Match]:
    """Finds which domain that a model has learnt a problem is of. There may be several ways to see it
    there: where *on* and *off* are alike, each may be the other.

    Args:
        read: the problem of a file.
        name: the file's, for errors.
        learnt: the domains.
        by_structure: whatever predicates and actions are called; else these are called as there.

    Raises:
        UserError: it is of none, and which there are; or no action can take its objects.
    """
    domain, problem = by_kind(read)
    near, some = "", False
    for one in learnt:
        seen: List[_Found] = []  # those of equal names come again
        for found in _correspondences(one.structure, domain, by_structure):
            if found in seen:
                continue
            seen.append(found)
            sorts = _sorts(one, domain, problem, found)
            new = [thing for thing, kind in problem.sorts.items() if sorts.get(kind, "") is None]
            if not new:
                some = True
                yield _match(one, domain, problem, found, sorts)
                continue
            near = f"{name} has the actions of {one.domain.name}, but"
    if some:
        return
    types = lacking(read)
    if near and types:
        fault = f"no object is of type {' or '.join(types)}, as in (:objects a b - {types[0]})"
        raise UserError(f"{near} {fault}")
    if near:
        fault = f"the model was trained on no object that the same actions take as {new[0]}"
        raise UserError(f"{near} {fault}; change --path")
    names = ", ".join(one.domain.name for one in learnt)
    known = "by its structure" if by_structure else "by its names, with --no-matching"
    reason = f"is no domain that the model knows {known}: these are {names}"
    raise UserError(f"{name} {reason}; change --path")


def _match(
    learnt: Learnt,
    domain: PlanningDomain,
    problem: Problem,
    found: "_Found",
    sorts: Mapping[str, _Sort],
) -> Match:
    ours, known = {}, learnt.domain

    def theirs_of(atoms: Iterable[Atom]) -> Tuple[Atom, ...]:
        return tuple((a[0], *(found.constants.get(term, term) for term in a[1:])) for a in atoms)

    for name, one in known.operators.items():
        other, places = found.operators[name]
        theirs, mine = domain.operators[other], _names(known, name)
        terms = {p: mine[places.index(at)] for at, p in enumerate(theirs.parameters)}
        distinct, same = (
            tuple((terms.get(one, one), terms.get(two, two)) for one, two in pairs)
            for pairs in (theirs.distinct, theirs.same)
        )
        parts = map(theirs_of, (one.before, one.add, one.delete, one.without))
        ours[name] = Operator(name, one.parameters, *parts, distinct, same)
    names = {other: (name, places) for name, (other, places) in found.predicates.items()}

    def translated(atoms: Iterable[Atom]) -> Iterator[Atom]:
        for predicate, *objects in atoms:
            if predicate in names:
                name, places = names[predicate]
                yield (name, *(objects[place] for place in places))

    taken = {name: sorts[kind] for name, kind in problem.sorts.items() if kind in sorts}
    objects = {name: sort for name, (sort, _) in taken.items()}
    told = {(predicate, name) for name, (_, some) in taken.items() for predicate in some}
    parts = (problem.initial, problem.goal, problem.without)
    initial, goal, without = (frozenset(translated(atoms)) for atoms in parts)
    seen = replace(known, operators=ours)
    made = Problem(objects, initial | told, goal, without)
    named = {kind: sort for kind, (sort, _) in sorts.items()}
    return Match(learnt, seen, made, found.operators, found.predicates, named)


def _names(domain: PlanningDomain, operator: str) -> List[str]:
    return list(domain.operators[operator].parameters)


@dataclass(frozen=True)
class _Found:
    """The names in a file of the operators, predicates and constants of a known domain."""

    operators: Names
    predicates: Names
    constants: Mapping[str, str]


def _correspondences(
    known: PlanningDomain, domain: PlanningDomain, by_structure: bool
) -> Iterator[_Found]:
    """The ways to see the operators and predicates of one domain in another."""
    budget = iter(range(_STEPS))

    def search(
        left: List[Operator], free: List[Operator], found: _Found, named: bool
    ) -> Iterator[_Found]:
        if not left:
            yield found
            return
        one, *rest = left
        for other in free:
            if _shape(one) != _shape(other) or named and one.name != other.name:
                continue
            places = {parameter: at for at, parameter in enumerate(other.parameters)}
            given = dict(found.constants), found.predicates
            for terms, predicates in _atoms(_parts(one), _parts(other), *given, named, budget):
                constants = {a: b for a, b in terms.items() if a not in one.parameters}
                if not places.keys().isdisjoint(constants.values()):
                    continue
                # Parameters that are in no atom.
                mine = [p for p in one.parameters if p not in terms]
                others = permutations(p for p in other.parameters if p not in terms.values())
                for spare in takewhile(lambda _: next(budget, None) is not None, others):
                    terms.update(zip(mine, spare))
                    order = tuple(places[terms[parameter]] for parameter in one.parameters)
                    operators = {**found.operators, one.name: (other.name, order)}
                    now = _Found(operators, predicates, constants)
                    yield from search(rest, [o for o in free if o is not other], now, named)

    ours, theirs = list(known.operators.values()), list(domain.operators.values())
    # Those with most parts first: few others look like them.
    ours.sort(key=_shape, reverse=True)
    for named in (True, False) if by_structure else (True,):
        if len(ours) == len(theirs):
            yield from search(ours, theirs, _Found({}, {}, {}), named)


def _parts(operator: Operator) -> List[Tuple[int, Atom]]:
    """The atoms of an operator, each with the number of its role."""
    roles = (operator.before, operator.add, operator.delete, operator.without)
    return [(role, atom) for role, atoms in enumerate(roles) for atom in atoms]


def _shape(operator: Operator) -> Tuple:
    atoms = [
        (role, len(atom), sum(term in operator.parameters for term in atom[1:]))
        for role, atom in _parts(operator)
    ]
    return len(operator.parameters), sorted(atoms)


def _atoms(
    left: List[Tuple[int, Atom]],
    free: List[Tuple[int, Atom]],
    terms: Dict[str, str],
    predicates: Dict[str, Tuple[str, Tuple[int, ...]]],
    named: bool,
    budget: Iterator[int],
) -> Iterator[Tuple[Dict, Dict]]:
    """The ways to see atoms in others of the same role, with the terms and predicates that
    correspond; what corresponds already is given, and ``named`` says whether names are equal."""
    if not left:
        yield terms, predicates
        return
    (role, (predicate, *objects)), *rest = left
    for at, (other_role, (other, *others)) in enumerate(free):
        if role != other_role or len(objects) != len(others) or next(budget, None) is None:
            continue
        if predicate in predicates:
            ways = [predicates[predicate]]
        elif any(other == taken for taken, _ in predicates.values()):
            continue
        elif named:
            ways = [(predicate, tuple(range(len(objects))))]
        else:
            ways = [(other, places) for places in permutations(range(len(objects)))]
        for name, places in ways:
            more = dict(terms)
            pairs = [(mine, others[place]) for mine, place in zip(objects, places)]
            fits = name == other and all(more.setdefault(a, b) == b for a, b in pairs)
            if fits and len(set(more.values())) == len(more):
                now = {**predicates, predicate: (name, places)}
                yield from _atoms(rest, [*free[:at], *free[at + 1 :]], more, now, named, budget)


def _sorts(
    learnt: Learnt, domain: PlanningDomain, problem: Problem, found: _Found
) -> Dict[str, Optional[_Sort]]:
    """The sort of each kind of objects, None for a kind of no sort. A kind that no action takes is left
    out, if nothing that counts is said of its objects."""
    known, theirs = learnt.domain, {}
    for name, (other, places) in found.operators.items():
        names = _names(domain, other)
        for parameter, place in zip(_names(known, name), places):
            for kind in domain.operators[other].parameters[names[place]]:
                theirs.setdefault(kind, set()).add((name, parameter))
    counted = {other for other, _ in found.predicates.values()}
    said = problem.initial | problem.goal | problem.without
    named = {*domain.constants, *(n for a in said if a[0] in counted for n in a[1:])}
    for name, kind in problem.sorts.items():
        if name in named:
            theirs.setdefault(kind, set())
    needs, bars = (
        {
            (one.name, parameter): {
                a[0] for a in atoms if a[0] in learnt.told and a[1] == parameter
            }
            for one in known.operators.values()
            for parameter in one.parameters
            for atoms in [getattr(one, part)]
        }
        for part in ("before", "without")
    )
    ours = roles(known)

    def told_of(where: Set, own: FrozenSet, told: FrozenSet[str]) -> Optional[FrozenSet[str]]:
        """The predicates to tell, those ``told`` and more, that leave of the roles ``own`` those of
        ``where`` alone; None if none do."""
        able = {role for role in own if needs[role] <= told and not bars[role] & told}
        if able <= where:
            return told if able == where else None
        barred = told.union(*(bars[role] for role in where))
        ways = (told | {name} for name in sorted(bars[min(able - where)] - barred))
        return next(filter(None, (told_of(where, own, way) for way in ways)), None)

    def sort_of(where: Set[Tuple[str, str]]) -> Optional[_Sort]:
        needed = frozenset().union(*(needs[role] for role in where))
        for sort in learnt.sorts:
            told = told_of(where, ours.get(sort, frozenset()), needed)
            if told is not None:
                return sort, told
        return None

    return {kind: sort_of(where) for kind, where in theirs.items()}
