"""Random problems of each domain by size, and the states that come up in solving them."""

from random import Random
from typing import Callable, Dict, Iterable, List, Mapping, Set, Tuple

from examples.planning.rules import good_actions
from sit_fairseq.domains.planning.applicable import applicable
from sit_fairseq.domains.planning.strips import Atom, PlanningDomain, Problem, State, apply

# Share of the states that a few random actions lead away from those of a plan.
_ASTRAY = 0.3

# Most objects of a logistics problem, as in the training problems of SymT (Fritzsche et al. 2026).
_MOST_OBJECTS = 15


def random_state(domain: PlanningDomain, problem: Problem, rng: Random) -> State:
    """A state on the way from a problem's first state to its goal, or some steps beside the way."""
    states, state = [], problem.initial
    while True:
        good = good_actions(domain, Problem(problem.sorts, state, problem.goal))
        if not good:
            break
        states.append(state)
        state = apply(domain, state, rng.choice(good))
    if not states:
        return state
    state = rng.choice(states)
    return astray(domain, problem, state, rng) if rng.random() < _ASTRAY else state


def astray(domain: PlanningDomain, problem: Problem, state: State, rng: Random) -> State:
    """A state that one to four random actions lead to."""
    for _ in range(rng.randint(1, 4)):
        state = apply(domain, state, rng.choice(sorted(applicable(domain, state, problem.sorts))))
    return state


def _names(sort: str, number: int) -> List[str]:
    return [f"{sort}{place}" for place in range(1, number + 1)]


def _problem(objects: Iterable[str], state: Iterable[Atom], goal: Iterable[Atom]) -> Problem:
    sorts = {name: name.rstrip("0123456789") for name in objects}
    return Problem(sorts, frozenset(state), frozenset(goal))


def _stacked(blocks: List[str], bases: List[str], rng: Random) -> Dict[str, str]:
    """The place of each block: a block, or one of the bases, of which the first is any table."""
    flat = rng.choice([0.0, 0.1, 0.25, 0.5])
    under: Dict[str, str] = {}
    tops = [base for base in bases if base]
    for block in rng.sample(blocks, len(blocks)):
        on_table = "" in bases and (not tops or rng.random() < flat)
        under[block] = "" if on_table else rng.choice(tops)
        if not on_table:
            tops.remove(under[block])
        tops.append(block)
    return under


def _some(atoms: List[Atom], rng: Random) -> List[Atom]:
    """All atoms, or some."""
    share = 1.0 if rng.random() < 0.7 else rng.random()
    return [atom for atom in atoms if rng.random() < share] or atoms[:1]


def blocksworld(size: int, rng: Random) -> Problem:
    """Towers of ``size`` blocks that are to become others."""
    blocks = _names("block", size)
    state: Set[Atom] = {("handempty",)}
    under = _stacked(blocks, [""], rng)
    state |= {("on", one, other) if other else ("ontable", one) for one, other in under.items()}
    state |= {("clear", block) for block in set(blocks) - set(under.values())}
    under = _stacked(blocks, [""], rng)
    goal: List[Atom] = [("on", one, other) for one, other in under.items() if other]
    if rng.random() < 0.25 or not goal:
        goal += [("ontable", one) for one, other in under.items() if not other]
    if rng.random() < 0.1:
        goal += [("clear", block) for block in blocks if block not in under.values()]
    return _problem(blocks, state, _some(goal, rng))


def depots(size: int, rng: Random) -> Problem:
    """``size`` crates at two to four places, each with a hoist and a pallet, and one to three
    trucks."""
    places = _names("place", rng.randint(2, 4))
    pallets, hoists = _names("pallet", len(places)), _names("hoist", len(places))
    crates, trucks = _names("crate", size), _names("truck", rng.randint(1, 3))
    state: Set[Atom] = {("at", truck, rng.choice(places)) for truck in trucks}
    for hoist, pallet, place in zip(hoists, pallets, places):
        state |= {("at", hoist, place), ("at", pallet, place), ("available", hoist)}
    under = _stacked(crates, pallets, rng)
    where = dict(zip(pallets, places))
    for crate, other in under.items():
        where[crate] = where[other]
        state |= {("on", crate, other), ("at", crate, where[crate])}
    state |= {("clear", one) for one in {*crates, *pallets} - set(under.values())}
    goal: List[Atom] = [("on", *pair) for pair in _stacked(crates, pallets, rng).items()]
    objects = [*places, *pallets, *hoists, *crates, *trucks]
    return _problem(objects, state, _some(goal, rng))


def gripper(size: int, rng: Random) -> Problem:
    """``size`` balls to be carried from room to room, mostly all from the first of two."""
    rooms = _names("room", 2 if rng.random() < 0.8 else 3)
    grippers = _names("gripper", 2 if rng.random() < 0.8 else rng.choice([1, 3]))
    balls = _names("ball", size)
    state: Set[Atom] = {("free", g) for g in grippers} | {("at-robot", rng.choice(rooms))}
    plain = rng.random() < 0.5
    state |= {("at", ball, rooms[0] if plain else rng.choice(rooms)) for ball in balls}
    goal: List[Atom] = [("at", ball, rooms[1] if plain else rng.choice(rooms)) for ball in balls]
    return _problem([*rooms, *grippers, *balls], state, _some(goal, rng))


def logistics(size: int, rng: Random) -> Problem:
    """``size`` packages in one to three cities of one to three locations, with a truck each, and one
    or two airplanes, 15 objects at most."""
    while True:
        cities = _names("city", rng.choice([1, 2, 2, 2, 3, 3]))
        trucks = _names("truck", len(cities) + (rng.random() < 0.1))
        planes = _names("airplane", 0 if len(cities) == 1 else rng.choice([1, 1, 2]))
        airports = _names("airport", 0 if len(cities) == 1 and rng.random() < 0.5 else len(cities))
        inner = rng.randint(0, 2) if airports else rng.randint(2, 3)
        locations = _names("location", inner * len(cities))
        packages = _names("package", size)
        places = airports + locations
        objects = [*cities, *trucks, *planes, *places, *packages]
        if len(objects) <= _MOST_OBJECTS and len(places) > 1:
            break
    city = {place: cities[number % len(cities)] for number, place in enumerate(airports)}
    city.update({place: cities[number % len(cities)] for number, place in enumerate(locations)})
    homes = [*cities, *(rng.choice(cities) for _ in trucks[len(cities) :])]
    state: Set[Atom] = {("in-city", *pair) for pair in city.items()}
    for truck, home in zip(trucks, homes):
        state.add(("at", truck, rng.choice([p for p in places if city[p] == home])))
    state |= {("at", plane, rng.choice(airports)) for plane in planes}
    state |= {("at", package, rng.choice(places)) for package in packages}
    goal: List[Atom] = [("at", package, rng.choice(places)) for package in packages]
    return _problem(objects, state, _some(goal, rng))


def visitall(size: int, rng: Random) -> Problem:
    """A grid of ``size`` places to be visited; of the primes above three one place is missing."""
    whole = size if size < 4 or any(size % n == 0 for n in range(2, size)) else size + 1
    width = rng.choice([n for n in range(1, whole + 1) if whole % n == 0])
    cells = [(n // width, n % width) for n in range(whole)]
    if whole > size:
        cells.remove(rng.choice([(0, 0), (whole // width - 1, width - 1)]))
    names = dict(zip(cells, _names("place", size)))
    start = names[rng.choice(cells)]
    state: Set[Atom] = {("at-robot", start), ("visited", start)}
    for (row, column), name in names.items():
        for other in ((row + 1, column), (row, column + 1)):
            if other in names:
                state |= {("connected", name, names[other]), ("connected", names[other], name)}
    if rng.random() < 0.3:  # a robot that came by another way
        state |= {("visited", place) for place in names.values() if rng.random() < 0.5}
    return _problem(names.values(), state, _some([("visited", p) for p in names.values()], rng))


# Draws problems by size, and the sizes that are drawn unless others are asked for.
SAMPLERS: Mapping[str, Tuple[Callable[[int, Random], Problem], Tuple[int, ...]]] = {
    "blocksworld": (blocksworld, (3, 5, 6, 7, 8)),
    "depots": (depots, (2, 3, 4)),
    "gripper": (gripper, (1, 2, 3, 4, 5, 6, 7, 8)),
    "logistics": (logistics, (1, 2, 3, 4, 5, 6)),
    "visitall": (visitall, tuple(range(2, 17))),
}
