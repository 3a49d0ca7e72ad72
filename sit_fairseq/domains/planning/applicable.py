"""Applicable actions of a state, found by a join of the atoms that each action needs."""

from collections import defaultdict
from itertools import product
from typing import Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from sit_fairseq.domains.planning.strips import (
    Action,
    Atom,
    Operator,
    PlanningDomain,
    State,
    ground,
    misfit,
)


def applicable(domain: PlanningDomain, state: State, sorts: Mapping[str, str]) -> Iterator[Action]:
    """The actions that a state allows, each once, in no order that means anything.

    The time grows with the atoms of the state and with the pairs of atoms that actions join, not
    with the products of objects: among 121 places a robot is asked about its neighbours alone.
    """
    atoms, objects = _Atoms(state), defaultdict(list)
    for name, sort in sorts.items():
        objects[sort].append(name)
    for operator in domain.operators.values():
        for found in _joined(operator, atoms, sorts, {}, operator.before):
            yield from _completed(operator, state, objects, found)


class _Atoms:
    """The atoms of a state by predicate, and by an object in a place once one is asked for."""

    def __init__(self, state: State) -> None:
        self._all: Dict[str, List[Atom]] = defaultdict(list)
        for atom in state:
            self._all[atom[0]].append(atom)
        self._with: Dict[Tuple[str, int], Dict[str, List[Atom]]] = {}

    def like(self, wanted: Sequence[Optional[str]]) -> List[Atom]:
        """Few atoms, among them all of a predicate with certain objects; None is any object."""
        predicate, *objects = wanted
        fewest = self._all[predicate]
        for place, name in enumerate(objects, start=1):
            if name is not None:
                fewest = min(fewest, self._at(predicate, place).get(name, []), key=len)
        return fewest

    def _at(self, predicate: str, place: int) -> Dict[str, List[Atom]]:
        if (predicate, place) not in self._with:
            found = self._with[predicate, place] = defaultdict(list)
            for atom in self._all[predicate]:
                found[atom[place]].append(atom)
        return self._with[predicate, place]


def _joined(
    operator: Operator,
    atoms: _Atoms,
    sorts: Mapping[str, str],
    found: Dict[str, str],
    left: Sequence[Atom],
) -> Iterator[Dict[str, str]]:
    """The objects of parameters for which the atoms that are left hold."""
    if not left:
        yield found
        return

    def candidates(atom: Atom) -> List[Atom]:
        terms = (found.get(term) if term in operator.parameters else term for term in atom[1:])
        return atoms.like([atom[0], *terms])

    offers = [candidates(atom) for atom in left]
    place = min(range(len(left)), key=lambda at: len(offers[at]))
    rest = [*left[:place], *left[place + 1 :]]
    for atom in offers[place]:
        more = dict(found)
        for term, name in zip(left[place][1:], atom[1:]):
            allowed = operator.parameters.get(term)
            fits = term == name if allowed is None else sorts.get(name) in allowed
            if not fits or more.setdefault(term, name) != name:
                break
        else:
            yield from _joined(operator, atoms, sorts, more, rest)


def _completed(
    operator: Operator, state: State, objects: Mapping[str, List[str]], found: Dict[str, str]
) -> Iterator[Action]:
    """The actions with certain objects: parameters of no atom have any object of their sorts."""
    choices = [
        [found[name]] if name in found else [o for sort in allowed for o in objects.get(sort, ())]
        for name, allowed in operator.parameters.items()
    ]
    for chosen in product(*choices):
        named = dict(zip(operator.parameters, chosen))
        wanted = misfit(operator, named) is None
        if wanted and state.isdisjoint(ground(operator.without, named)):
            yield (operator.name, *chosen)
