"""Symmetry: objects and actions that are alike but for their names.

Two objects are alike if some renaming of the objects, which changes no atom, makes the one the other.
"""

from collections import defaultdict
from hashlib import blake2b
from typing import Any, Dict, Iterable, List, Mapping, Sequence, Tuple

from sit_fairseq.domains.planning.strips import Action, Atom

# The most times that an atom or an object is looked at to tell objects apart, and to mark some.
MOST = 200_000


def colours(kinds: Mapping[str, Any], atoms: Sequence[Atom], rounds: int = 3) -> Dict[str, int]:
    """Numbers for objects that do not depend on their names (Weisfeiler and Leman 1968).

    An object begins as its sort; in each round it learns the atoms that it is in and the numbers of
    the other objects. What some renaming makes equal gets equal numbers; the converse need not be.
    """
    numbers = {name: number(kind) for name, kind in kinds.items()}
    for _ in range(rounds):
        seen: Dict[str, List[int]] = defaultdict(list)
        for predicate, *names in atoms:
            shape = (predicate, *(numbers[name] for name in names))
            for place, name in enumerate(names):
                seen[name].append(number((place, shape)))
        numbers = {name: number((n, tuple(sorted(seen[name])))) for name, n in numbers.items()}
    return numbers


def refined(kinds: Mapping[str, Any], atoms: Sequence[Atom]) -> Tuple[Dict[str, int], bool]:
    """:func:`colours` after as many rounds as tell more objects apart, fewer in large problems; and
    whether no more rounds would tell more."""
    numbers, known = colours(kinds, atoms, 0), 0
    for _ in range(MOST // (1 + len(atoms) + len(kinds))):
        if known == len(set(numbers.values())):
            return numbers, True
        known = len(set(numbers.values()))
        numbers = colours(numbers, atoms, 1)
    return numbers, False


def number(value: object) -> int:
    """A number for a value made of texts and numbers, the same in every process."""
    text = repr(value).encode()
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "big")


def marked(
    name: str, numbers: Mapping[str, int], atoms: Sequence[Atom]
) -> Tuple[Dict[str, int], bool]:
    """As :func:`refined`, once an object differs from all others, as if it had a mark."""
    return refined({**numbers, name: number((numbers[name], "marked"))}, atoms)


def distinct(
    actions: Iterable[Action], kinds: Mapping[str, Any], atoms: Sequence[Atom]
) -> Dict[Action, int]:
    """One of each set of actions that are alike, the first, with their number.

    An object of an action is chosen among those that are alike, and marked before the next one is.
    In a problem too large to tell who is alike, nothing is.

    Args:
        actions: to choose from.
        kinds: of objects: their sorts, and what else tells them apart.
        atoms: of the state and the goal.
    """
    found: Dict[Action, int] = {}

    def choose(some: List[Action], place: int, numbers: Mapping[str, int], count: int) -> None:
        if len(some) == 1 or place == len(some[0]):
            found[some[0]] = count
            return
        looks: Dict[int, Dict[str, List[Action]]] = defaultdict(dict)
        for action in some:
            name = action[place]
            looks[numbers[name]].setdefault(name, []).append(action)
        for look, alike in looks.items():
            name, rest = next(iter(alike.items()))
            told, whole = numbers, True
            if len(rest) > 1 and list(numbers.values()).count(look) > 1:
                told, whole = marked(name, numbers, atoms)
            if whole:
                choose(rest, place + 1, told, count * len(alike))
            else:
                found.update(dict.fromkeys(rest, count * len(alike)))

    numbers, whole = refined(kinds, atoms)
    if not whole:
        return dict.fromkeys(actions, 1)
    operators: Dict[str, List[Action]] = defaultdict(list)
    for action in actions:
        operators[action[0]].append(action)
    for some in operators.values():
        choose(some, 1, numbers, 1)
    return found
