"""The domains that are known, in names of our own.

Their sorts tell apart what actions tell apart: depots and distributors are places, and an airport
is a location where airplanes land. Sources: blocksworld with four operators, logistics, gripper and
depots of the International Planning Competitions of 1998, 2000 and 2002, visitall of 2011.
"""

from functools import lru_cache
from typing import Dict, Mapping, Tuple

from sit_fairseq.domains.planning.strips import Atom, Operator, PlanningDomain

# Of each domain its actions: parameters with their sorts, then what must hold, what holds
# afterwards, and what holds no longer.
_DOMAINS: Mapping[str, Tuple[Tuple[str, str, str, str], ...]] = {
    "blocksworld": (
        (
            "pick-up x:block",
            "clear x, ontable x, handempty",
            "holding x",
            "clear x, ontable x, handempty",
        ),
        (
            "put-down x:block",
            "holding x",
            "clear x, ontable x, handempty",
            "holding x",
        ),
        (
            "stack x:block y:block",
            "holding x, clear y",
            "on x y, clear x, handempty",
            "holding x, clear y",
        ),
        (
            "unstack x:block y:block",
            "on x y, clear x, handempty",
            "holding x, clear y",
            "on x y, clear x, handempty",
        ),
    ),
    "depots": (
        (
            "drive t:truck from:place to:place",
            "at t from",
            "at t to",
            "at t from",
        ),
        (
            "lift h:hoist c:crate s:crate|pallet p:place",
            "at h p, available h, at c p, on c s, clear c",
            "lifting h c, clear s",
            "at c p, clear c, available h, on c s",
        ),
        (
            "drop h:hoist c:crate s:crate|pallet p:place",
            "at h p, at s p, clear s, lifting h c",
            "available h, at c p, clear c, on c s",
            "lifting h c, clear s",
        ),
        (
            "load h:hoist c:crate t:truck p:place",
            "at h p, at t p, lifting h c",
            "in c t, available h",
            "lifting h c",
        ),
        (
            "unload h:hoist c:crate t:truck p:place",
            "at h p, at t p, available h, in c t",
            "lifting h c",
            "in c t, available h",
        ),
    ),
    "gripper": (
        (
            "move from:room to:room",
            "at-robot from",
            "at-robot to",
            "at-robot from",
        ),
        (
            "pick b:ball r:room g:gripper",
            "at b r, at-robot r, free g",
            "carry b g",
            "at b r, free g",
        ),
        (
            "drop b:ball r:room g:gripper",
            "carry b g, at-robot r",
            "at b r, free g",
            "carry b g",
        ),
    ),
    "logistics": (
        (
            "load-truck o:package t:truck l:location|airport",
            "at t l, at o l",
            "in o t",
            "at o l",
        ),
        (
            "unload-truck o:package t:truck l:location|airport",
            "at t l, in o t",
            "at o l",
            "in o t",
        ),
        (
            "load-airplane o:package a:airplane l:location|airport",
            "at a l, at o l",
            "in o a",
            "at o l",
        ),
        (
            "unload-airplane o:package a:airplane l:location|airport",
            "at a l, in o a",
            "at o l",
            "in o a",
        ),
        (
            "drive t:truck from:location|airport to:location|airport c:city",
            "at t from, in-city from c, in-city to c",
            "at t to",
            "at t from",
        ),
        (
            "fly a:airplane from:airport to:airport",
            "at a from",
            "at a to",
            "at a from",
        ),
    ),
    "visitall": (
        (
            "move from:place to:place",
            "at-robot from, connected from to",
            "at-robot to, visited to",
            "at-robot from",
        ),
    ),
}


def _atoms(text: str) -> Tuple[Atom, ...]:
    atoms = (atom.split() for atom in text.split(", "))
    return tuple((predicate, *(f"?{name}" for name in names)) for predicate, *names in atoms)


def _operator(head: str, before: str, add: str, delete: str) -> Operator:
    name, *parameters = head.split()
    pairs = (word.split(":") for word in parameters)
    sorts = {f"?{name}": frozenset(some.split("|")) for name, some in pairs}
    return Operator(name, sorts, _atoms(before), _atoms(add), _atoms(delete))


@lru_cache(maxsize=1)
def known_domains() -> Dict[str, PlanningDomain]:
    """The known domains by name: blocksworld, depots, gripper, logistics and visitall."""
    found = {}
    for name, actions in _DOMAINS.items():
        operators = {operator.name: operator for operator in (_operator(*a) for a in actions)}
        atoms = [a for o in operators.values() for a in (*o.before, *o.add, *o.delete)]
        predicates = {atom[0]: len(atom) - 1 for atom in atoms}
        found[name] = PlanningDomain(name, predicates, operators)
    return found
