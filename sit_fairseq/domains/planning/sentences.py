"""Sentences: a state and a goal as the model reads them, and an action as it answers.

A sentence is the name of the domain, then atoms in any order, each a predicate and its objects:

    blocksworld on block1 block2 ontable block2 on? block2 block1

Atoms that hold are plain (``on``), those of the goal that do not hold yet have a question mark
(``on?``), those of the goal that hold an exclamation mark (``on!``). An answer is an action,
``unstack block1 block2``. Objects are symbols, named by their sort and a number.

Left out is what the other atoms say: ``clear``, ``handempty``, ``available``, and places that are
visited; ``connected`` is written once for both directions, as ``linked``.
"""

from collections import Counter, defaultdict
from functools import lru_cache
from hashlib import blake2b
from random import Random
from typing import Any, Dict, FrozenSet, List, Mapping, Sequence, Set, Tuple

from sit_fairseq.domains.planning.known import known_domains
from sit_fairseq.domains.planning.strips import Atom, PlanningDomain, Problem, State
from sit_fairseq.errors import MalformedFormula

_WANTED, _REACHED = "?", "!"

# Predicates whose atoms follow from the others, by the name of the domain.
_IMPLIED = {
    "blocksworld": ("clear", "handempty"),
    "depots": ("clear", "available"),
    "visitall": ("visited",),
}

# Two atoms, one in each direction, as one.
_ONE_WAY, _BOTH_WAYS = "connected", "linked"


@lru_cache(maxsize=1)
def sorts() -> Tuple[str, ...]:
    """The sorts of objects of all domains."""
    operators = (o for domain in known_domains().values() for o in domain.operators.values())
    return tuple(sorted({s for o in operators for some in o.parameters.values() for s in some}))


@lru_cache(maxsize=1)
def symbols() -> str:
    """The pattern of the symbols, a line for each sort: ``block=block\\d+``."""
    return "\n".join(rf"{sort}={sort}\d+" for sort in sorts())


def sort_of(name: str) -> str:
    """The sort of an object, by its name in sentences."""
    return name.rstrip("0123456789")


def wanted(predicate: str) -> str:
    """The word for a predicate in atoms of the goal that do not hold yet."""
    return f"{predicate}{_WANTED}"


def atoms_of(domain: PlanningDomain, state: State, goal: State) -> List[Atom]:
    """The atoms of a sentence, each with its mark, sorted."""
    implied = _IMPLIED.get(domain.name, ())
    found = [(wanted(a[0]), *a[1:]) for a in goal if a not in state]
    for atom in state:
        if atom in goal:
            if atom[0] != "visited":
                found.append((f"{atom[0]}{_REACHED}", *atom[1:]))
        elif atom[0] == _ONE_WAY and (_ONE_WAY, atom[2], atom[1]) in state:
            if atom[1] < atom[2]:
                found.append((_BOTH_WAYS, *atom[1:]))
        elif atom[0] not in implied:
            found.append(atom)
    return sorted(found)


def one_way(domain: PlanningDomain, state: State) -> bool:
    """Whether some places are connected in one direction alone, which sentences tell apart."""
    return any(atom[0] == _ONE_WAY for atom in atoms_of(domain, state, frozenset()))


def sentence(domain: PlanningDomain, state: State, goal: State, rng: Random) -> List[str]:
    """The tokens of a state and a goal, atoms in random order.

    Names of objects are those of sentences. Which order is drawn depends on them, so that they are
    given by what names have no part in, see :func:`naming`.
    """
    atoms = atoms_of(domain, state, goal)
    rng.shuffle(atoms)
    tokens = [domain.name]
    for predicate, *objects in atoms:
        if predicate == _BOTH_WAYS and rng.random() < 0.5:
            objects.reverse()
        tokens += [predicate, *objects]
    return tokens


def read_sentence(tokens: Sequence[str]) -> Tuple[PlanningDomain, Problem]:
    """The problem of a sentence; MalformedFormula if it is none."""
    domain = known_domains().get(tokens[0]) if tokens else None
    if domain is None:
        raise MalformedFormula(f"a sentence begins with one of {', '.join(known_domains())}")
    arity = {_BOTH_WAYS: 2, **domain.predicates}
    state, goal, objects, place = set(), set(), {}, 1
    while place < len(tokens):
        word = tokens[place]
        predicate = word.rstrip(_WANTED + _REACHED)
        count = arity.get(predicate)
        names = tokens[place + 1 : place + 1 + (count or 0)]
        if count is None or len(names) < count:
            raise MalformedFormula(f"token {place + 1}, {word!r}, begins no atom of {domain.name}")
        for name in names:
            if sort_of(name) not in sorts():
                raise MalformedFormula(f"{name!r} after {word!r} is no object")
            objects[name] = sort_of(name)
        atom = (predicate, *names)
        if predicate == _BOTH_WAYS:
            state.update(((_ONE_WAY, *names), (_ONE_WAY, *reversed(names))))
        if word != predicate:
            goal.add(atom)
        if word[-1] != _WANTED and predicate != _BOTH_WAYS:
            state.add(atom)
        place += 1 + count
    state |= _implied(domain.name, state, objects)
    return domain, Problem(objects, frozenset(state), frozenset(goal))


def _implied(name: str, state: Set[Atom], objects: Mapping[str, str]) -> Set[Atom]:
    """The atoms of a state that sentences leave out."""
    if name == "visitall":
        return {("visited", *atom[1:]) for atom in state if atom[0] == "at-robot"}
    held = {a[-1]: a[1] for a in state if a[0] in ("holding", "lifting")}
    covered = {a[2] for a in state if a[0] == "on"} | set(held)
    covered |= {a[1] for a in state if a[0] == "in"}
    if name == "blocksworld":
        clear = {("clear", block) for block in objects if block not in covered}
        return clear if held else clear | {("handempty",)}
    if name == "depots":
        found = {("clear", x) for x, s in objects.items() if s in ("crate", "pallet")}
        free = {("available", x) for x, s in objects.items() if s == "hoist"}
        return (found - {("clear", x) for x in covered}) | (
            free - {("available", hoist) for hoist in held.values()}
        )
    return set()


def colours(kinds: Mapping[str, Any], atoms: Sequence[Atom], rounds: int = 3) -> Dict[str, int]:
    """Numbers for objects that do not depend on their names (Weisfeiler and Leman 1968).

    An object begins as its sort; in each round it learns the atoms that it is in and the numbers of
    the other objects. What some renaming makes equal gets equal numbers; the converse need not be.
    """
    numbers = {name: _number(kind) for name, kind in kinds.items()}
    for _ in range(rounds):
        seen: Dict[str, List[int]] = defaultdict(list)
        for predicate, *names in atoms:
            shape = (predicate, *(numbers[name] for name in names))
            for place, name in enumerate(names):
                seen[name].append(_number((place, shape)))
        numbers = {name: _number((n, tuple(sorted(seen[name])))) for name, n in numbers.items()}
    return numbers


def _refined(kinds: Mapping[str, Any], atoms: Sequence[Atom]) -> Dict[str, int]:
    """:func:`colours` after as many rounds as tell more objects apart."""
    numbers, known = colours(kinds, atoms, 0), 0
    while known < len(set(numbers.values())):
        known = len(set(numbers.values()))
        numbers = colours(numbers, atoms, 1)
    return numbers


def problem_key(domain: PlanningDomain, state: State, goal: State) -> int:
    """A number that a state and a goal share with all their renamings, and with few others."""
    atoms = atoms_of(domain, state, goal)
    kinds = {name: sort_of(name) for atom in atoms for name in atom[1:]}
    return _number((domain.name, tuple(sorted(colours(kinds, _directed(atoms)).values()))))


def _directed(atoms: Sequence[Atom]) -> List[Atom]:
    """The atoms, those of both directions in both."""
    return [*atoms, *((a[0], a[2], a[1]) for a in atoms if a[0] == _BOTH_WAYS)]


def _number(value: object) -> int:
    """A number for a value made of texts and numbers, the same in every process."""
    text = repr(value).encode()
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "big")


def naming(domain: PlanningDomain, problem: Problem) -> Dict[str, str]:
    """The names that objects have in sentences, by their names in the problem.

    They depend on the part that an object has in the problem. Of objects that look alike the first
    of the file is marked, which may tell others apart, and so on: where they are alike, it does not
    matter which was marked, so that the order of the file has no part either.
    It has one only between objects that differ and that no refinement tells apart.
    """
    goal = ((wanted(a[0]), *a[1:]) for a in problem.goal)
    atoms = [*problem.initial, *goal]
    numbers = _refined(problem.sorts, atoms)
    while len(set(numbers.values())) < len(numbers):
        sizes = Counter(numbers.values())
        alike = min(number for number, size in sizes.items() if size > 1)
        one = next(name for name in problem.sorts if numbers[name] == alike)
        numbers = _refined({**numbers, one: _number((alike, "marked"))}, atoms)
    count: Dict[str, int] = defaultdict(int)
    names = {}
    for name in sorted(problem.sorts, key=lambda name: numbers[name]):
        kind = problem.sorts[name]
        count[kind] += 1
        names[name] = f"{kind}{count[kind]}"
    return names


def renamed(atoms: State, names: Mapping[str, str]) -> FrozenSet[Atom]:
    """Atoms with other names of the objects."""
    return frozenset((atom[0], *(names[name] for name in atom[1:])) for atom in atoms)
