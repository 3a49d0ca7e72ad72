"""STRIPS: states, actions, and what an action does to a state (Fikes and Nilsson 1971).

An atom is a tuple ``("on", "b1", "b2")``, a predicate and its objects. Types are static unary
predicates, which begin no atom of a state: an object has one sort.
"""

from dataclasses import dataclass
from typing import FrozenSet, Mapping, Tuple

Atom = Tuple[str, ...]
State = FrozenSet[Atom]


@dataclass(frozen=True)
class Operator:
    """An action schema.

    Attributes:
        name: of the action.
        parameters: the sorts that each parameter may have, by the name of the parameter.
        before: atoms over the parameters that must hold.
        without: atoms over the parameters that must not hold.
        add: atoms that hold afterwards.
        delete: atoms that hold no longer; one that is added, too, holds.
        distinct: pairs of parameters that must be different objects.
    """

    name: str
    parameters: Mapping[str, FrozenSet[str]]
    before: Tuple[Atom, ...]
    add: Tuple[Atom, ...]
    delete: Tuple[Atom, ...]
    without: Tuple[Atom, ...] = ()
    distinct: Tuple[Tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Problem:
    """A problem of a domain: what there is, what holds, and what is to hold.

    Attributes:
        sorts: the sort of each object, by its name.
        initial: the atoms that hold, static ones too.
        goal: the atoms that must hold in the end.
    """

    sorts: Mapping[str, str]
    initial: State
    goal: State


@dataclass(frozen=True)
class PlanningDomain:
    """What all problems of a domain share.

    Attributes:
        name: of the domain.
        predicates: the number of objects of each predicate.
        operators: by name.
    """

    name: str
    predicates: Mapping[str, int]
    operators: Mapping[str, Operator]
