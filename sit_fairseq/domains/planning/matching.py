"""Domains known by their structure: whatever a file calls its predicates and actions.

A domain of a file is a known one if their actions are the same up to the names of predicates and
actions, and up to the order of definitions, parameters and objects of predicates. Then kinds of
objects are sorts: those that may be the same parameters of the same actions. A file may ask in
addition that two parameters differ.
"""

from dataclasses import dataclass, replace
from itertools import permutations
from typing import Dict, FrozenSet, Iterable, Iterator, List, Mapping, Optional, Tuple

from sit_fairseq.domains.planning.kinds import by_kind, lacking
from sit_fairseq.domains.planning.known import known_domains
from sit_fairseq.domains.planning.pddl_files import PddlProblem
from sit_fairseq.domains.planning.strips import Action, Atom, Operator, PlanningDomain, Problem
from sit_fairseq.errors import UserError

# Steps of a search for what corresponds, after which domains count as different.
_STEPS = 100_000

# Of a known operator, or of a predicate: the name in the file, and which place there each of its
# parameters or objects has, from 0.
Names = Mapping[str, Tuple[str, Tuple[int, ...]]]


@dataclass(frozen=True)
class Match:
    """A problem of a file as one of a known domain.

    Attributes:
        file: the domain and the problem of the file, with kinds for sorts.
        domain: the known domain; its operators keep what the file asks to differ or to be the same.
        problem: in the names of the known domain, but for the names of objects.
        operators: what the file calls the operators, and the order of their parameters there.
        predicates: the same of predicates and their objects.
        sorts: the sort of each kind of objects of the file.
    """

    file: Tuple[PlanningDomain, Problem]
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


def match(read: PddlProblem, name: str) -> Match:
    """Finds which known domain a problem is of.

    Args:
        read: the problem of a file.
        name: the file's, for errors.

    Raises:
        UserError: it is of none, and which are known; or no action can take its objects.
    """
    domain, problem = by_kind(read)
    near: Optional[PlanningDomain] = None
    for known in known_domains().values():
        for operators, predicates in _correspondences(known, domain):
            sorts = _sorts(known, domain, problem, operators)
            if sorts is not None:
                return _match(known, domain, problem, operators, predicates, sorts)
            near = known
    types = lacking(read)
    if near is not None and types:
        fault = f"no object is of type {' or '.join(types)}, as in (:objects a b - {types[0]})"
        raise UserError(f"{name} has the actions of {near.name}, but {fault}")
    names = ", ".join(known_domains())
    raise UserError(f"{name} is no domain that is known by its structure: these are {names}")


def _match(
    known: PlanningDomain,
    domain: PlanningDomain,
    problem: Problem,
    operators: Names,
    predicates: Names,
    sorts: Mapping[str, str],
) -> Match:
    ours = {}
    for name, (other, places) in operators.items():
        theirs, mine = domain.operators[other], _parameters(known, name)
        terms = {p: mine[places.index(at)] for at, p in enumerate(theirs.parameters)}
        distinct, same = (
            tuple((terms.get(one, one), terms.get(two, two)) for one, two in pairs)
            for pairs in (theirs.distinct, theirs.same)
        )
        ours[name] = replace(known.operators[name], distinct=distinct, same=same)
    names = {other: (name, places) for name, (other, places) in predicates.items()}

    def translated(atoms: Iterable[Atom]) -> Iterator[Atom]:
        for predicate, *objects in atoms:
            if predicate in names:
                name, places = names[predicate]
                yield (name, *(objects[place] for place in places))

    objects = {name: sorts[kind] for name, kind in problem.sorts.items() if kind in sorts}
    initial, goal = (frozenset(translated(atoms)) for atoms in (problem.initial, problem.goal))
    found = Problem(objects, initial, goal)
    seen = replace(known, operators=ours)
    return Match((domain, problem), seen, found, operators, predicates, sorts)


def _parameters(domain: PlanningDomain, operator: str) -> List[str]:
    return list(domain.operators[operator].parameters)


def _correspondences(
    known: PlanningDomain, domain: PlanningDomain
) -> Iterator[Tuple[Names, Names]]:
    """The ways to see the operators and predicates of one domain in another."""
    budget = iter(range(_STEPS))

    def operators(
        left: List[Operator], free: List[Operator], found: Dict, predicates: Dict
    ) -> Iterator[Tuple[Names, Names]]:
        if not left:
            yield found, predicates
            return
        one, *rest = left
        for other in free:
            if _shape(one) == _shape(other):
                places = {parameter: at for at, parameter in enumerate(other.parameters)}
                for terms, more in _atoms(_parts(one), _parts(other), {}, predicates, budget):
                    order = tuple(places[terms[parameter]] for parameter in one.parameters)
                    now = {**found, one.name: (other.name, order)}
                    yield from operators(rest, [o for o in free if o is not other], now, more)

    ours, theirs = list(known.operators.values()), list(domain.operators.values())
    if len(ours) == len(theirs):
        # Those with most parts first: few others look like them.
        yield from operators(sorted(ours, key=_shape, reverse=True), theirs, {}, {})


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
    budget: Iterator[int],
) -> Iterator[Tuple[Dict, Dict]]:
    """The ways to see atoms in others of the same role, with the terms and predicates that
    correspond; what corresponds already is given."""
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
        else:
            ways = [(other, places) for places in permutations(range(len(objects)))]
        for name, places in ways:
            more = dict(terms)
            pairs = [(mine, others[place]) for mine, place in zip(objects, places)]
            fits = name == other and all(more.setdefault(a, b) == b for a, b in pairs)
            if fits and len(set(more.values())) == len(more):
                now = {**predicates, predicate: (name, places)}
                yield from _atoms(rest, [*free[:at], *free[at + 1 :]], more, now, budget)


def _sorts(
    known: PlanningDomain, domain: PlanningDomain, problem: Problem, operators: Names
) -> Optional[Dict[str, str]]:
    """The sort of each kind of objects; None if some kind is of no sort. A kind that no action
    takes is left out, if nothing is said of its objects."""
    ours: Dict[str, set] = {}
    theirs: Dict[str, set] = {}
    for name, (other, places) in operators.items():
        names = _parameters(domain, other)
        for parameter, place in zip(_parameters(known, name), places):
            for sort in known.operators[name].parameters[parameter]:
                ours.setdefault(sort, set()).add((name, parameter))
            for kind in domain.operators[other].parameters[names[place]]:
                theirs.setdefault(kind, set()).add((name, parameter))
    roles: Dict[FrozenSet, str] = {frozenset(where): sort for sort, where in ours.items()}
    found = {kind: roles.get(frozenset(where)) for kind, where in theirs.items()}
    named = {name for atom in problem.initial | problem.goal for name in atom[1:]}
    left = {kind for name, kind in problem.sorts.items() if name in named} - set(found)
    return None if left or None in found.values() else found
