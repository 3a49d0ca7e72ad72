"""The good actions of a state, by a rule for each domain.

Each rule follows from the state and the goal alone, needs no search, and reaches the goal when it is
followed from any state on. Its plans are short, not shortest.
"""

from collections import defaultdict
from typing import Any, Callable, Dict, Iterable, List, Mapping, Set, Tuple

from sit_fairseq.domains.planning.strips import Action, Atom, PlanningDomain, Problem, State


def good_actions(domain: PlanningDomain, problem: Problem) -> List[Action]:
    """The actions that are equally good next, none where the goal holds or the rule has none."""
    if problem.goal <= problem.initial:
        return []
    return sorted(_RULES[domain.name](problem.initial, problem.goal, problem.sorts))


def _by_predicate(atoms: Iterable[Atom]) -> Dict[str, List[Tuple[str, ...]]]:
    found: Dict[str, List[Tuple[str, ...]]] = defaultdict(list)
    for atom in atoms:
        found[atom[0]].append(atom[1:])
    return found


_TABLE = "table"


class _Towers:
    """Towers in blocksworld and depots, and what has to stay.

    Attributes:
        under: what a block stands on, by the block.
        wanted: what it is to stand on.
        covered: what has something on it.
        bare: what must have nothing on it in the end.
    """

    def __init__(self, now: Mapping[str, Any], then: Mapping[str, Any]) -> None:
        self.under: Dict[str, str] = dict(now["on"])
        self.wanted: Dict[str, str] = dict(then["on"])
        self.covered = set(self.under.values())
        self.bare = {one for (one,) in then["clear"]}
        self._wanted_on = {other: one for one, other in self.wanted.items()}
        for (block,) in now["ontable"]:
            self.under[block] = _TABLE
        for (block,) in then["ontable"]:
            self.wanted[block] = _TABLE
        self._stays: Dict[str, bool] = {}

    def stays(self, block: str) -> bool:
        """Whether a block that stands somewhere need not be moved."""
        known = self._stays.get(block)
        if known is None:
            under = self.under.get(block)
            if under is None:
                known = True
            else:
                fits = self.wanted.get(block, under) == under
                fits = fits and self._wanted_on.get(under, block) == block
                known = fits and under not in self.bare and self.stays(under)
            self._stays[block] = known
        return known

    def aims(self, block: str, surfaces: Iterable[str] = ()) -> List[str]:
        """The places that a block can be put on to stay, now. One that others are to stand on, but that
        is to stand on nothing itself, stays on each of the ``surfaces`` that nobody else needs."""
        wanted = self.wanted.get(block)
        if wanted is not None:
            surfaces = [wanted]
        elif block in self._wanted_on:
            surfaces = [one for one in surfaces if one not in self._wanted_on]
        else:
            return []
        closed = self.covered | self.bare
        return [
            one
            for one in surfaces
            if one not in closed
            and (one in self.under or one.startswith("pallet"))
            and self.stays(one)
        ]


def _blocksworld(state: State, goal: State, sorts: Mapping[str, str]) -> List[Action]:
    """Blocks are put where they are to stay, if there are any such; else a block that is in the way
    is put on the table (Slaney and Thiebaux 2001, "GN1")."""
    now, then = _by_predicate(state), _by_predicate(goal)
    towers = _Towers(now, then)
    for (block,) in now["holding"]:
        return [("stack", block, aim) for aim in towers.aims(block)] or [("put-down", block)]
    moved = [b for b in towers.under if b not in towers.covered and not towers.stays(b)]
    final = [b for b in moved if towers.aims(b) or towers.wanted.get(b, _TABLE) == _TABLE]
    return [
        (
            ("pick-up", block)
            if towers.under[block] == _TABLE
            else ("unstack", block, towers.under[block])
        )
        for block in final or [b for b in moved if towers.under[b] != _TABLE]
    ]


def _gripper(state: State, goal: State, sorts: Mapping[str, str]) -> List[Action]:
    """Balls are dropped in their room, then as many balls are picked as there are grippers."""
    now = _by_predicate(state)
    ((here,),) = now["at-robot"]
    aims = {atom[1]: atom[2] for atom in goal if atom[0] == "at"}
    lost = {ball for ball, room in now["at"] if aims.get(ball, room) != room}
    carried = now["carry"]
    drops = [("drop", b, here, g) for b, g in carried if aims.get(b, here) == here]
    if drops:
        return drops
    picks = [
        ("pick", b, here, g) for b, r in now["at"] if r == here and b in lost for g, in now["free"]
    ]
    if picks:
        return picks
    rooms = {aims[ball] for ball, _ in carried} or {
        room for ball, room in now["at"] if ball in lost
    }
    rooms = rooms or {a[1] for a in goal if a[0] == "at-robot"}
    return [("move", here, room) for room in rooms if room != here]


def _visitall(state: State, goal: State, sorts: Mapping[str, str]) -> List[Action]:
    """A place beside that is to be visited, with fewest such places beside it (Warnsdorff 1823); else
    a step towards the nearest one."""
    now = _by_predicate(state)
    ((here,),) = now["at-robot"]
    beside: Dict[str, List[str]] = defaultdict(list)
    for one, other in now["connected"]:
        beside[one].append(other)
    left = {a[1] for a in goal if a[0] == "visited"} - {a[0] for a in now["visited"]}
    near = {place: sum(p in left for p in beside[place]) for place in beside[here] if place in left}
    if near:
        least = min(near.values())
        return [("move", here, place) for place, number in near.items() if number == least]
    aims = left or {a[1] for a in goal if a[0] == "at-robot"}
    return [("move", here, place) for place in _first_steps(here, beside, aims)]


def _first_steps(here: str, beside: Mapping[str, List[str]], aims: Set[str]) -> Set[str]:
    """The places beside this one from which the nearest of some places are one step nearer."""
    firsts: Dict[str, Set[str]] = {here: set()}
    ring = [here]
    while ring:
        reached: Dict[str, Set[str]] = defaultdict(set)
        for place in ring:
            for other in beside.get(place, ()):
                if other not in firsts:
                    reached[other] |= firsts[place] or {other}
        firsts.update(reached)
        ring = list(reached)
        found = [reached[place] for place in ring if place in aims]
        if found:
            return set().union(*found)
    return set()


def _logistics(state: State, goal: State, sorts: Mapping[str, str]) -> List[Action]:
    """Unloading and loading go before driving, trucks before airplanes, fetching before bringing."""
    now = _by_predicate(state)
    where, inside, city = dict(now["at"]), dict(now["in"]), dict(now["in-city"])
    aims = {atom[1]: atom[2] for atom in goal if atom[0] == "at"}
    airports = {place for place in city if sorts[place] == "airport"}
    here: Dict[str, List[str]] = defaultdict(list)
    for thing, place in where.items():
        if sorts[thing] in ("truck", "airplane"):
            here[place].append(thing)
    unload, load = [], []
    fetch: Dict[str, Set[str]] = {"truck": set(), "airplane": set()}
    bring: Dict[str, Set[str]] = defaultdict(set)
    for package, aim in aims.items():
        vehicle = inside.get(package)
        place = where.get(package) or where[vehicle]
        same = city[place] == city[aim]
        if vehicle is not None:
            kind = sorts[vehicle]
            if place == aim or (not same and place in airports if kind == "truck" else same):
                unload.append((f"unload-{kind}", package, vehicle, place))
            elif kind == "truck":
                local = {one for one in airports if city[one] == city[place]}
                bring[vehicle] |= {aim} if same else local
            else:
                bring[vehicle] |= {one for one in airports if city[one] == city[aim]}
        elif place != aim:
            kind = "truck" if same or place not in airports else "airplane"
            ready = [one for one in here[place] if sorts[one] == kind]
            load += [(f"load-{kind}", package, one, place) for one in ready]
            if not ready:
                fetch[kind].add(place)
    trucks = [one for one, place in where.items() if sorts[one] == "truck"]
    planes = [one for one, place in where.items() if sorts[one] == "airplane"]

    def drives(aims_of: Callable[[str], Iterable[str]]) -> List[Action]:
        return [
            ("drive", t, where[t], aim, city[aim])
            for t in trucks
            for aim in aims_of(t)
            if city[aim] == city[where[t]]
        ]

    def flights(aims_of: Callable[[str], Iterable[str]]) -> List[Action]:
        return [("fly", a, where[a], aim) for a in planes for aim in aims_of(a)]

    return (
        unload
        or load
        or drives(lambda t: fetch["truck"])
        or drives(lambda t: bring[t])
        or flights(lambda a: fetch["airplane"])
        or flights(lambda a: bring[a])
    )


def _depots(state: State, goal: State, sorts: Mapping[str, str]) -> List[Action]:
    """Crates that are in the way, or not where they belong, are loaded; those that can be put where
    they are to stay are brought there, and put there."""
    now, then = _by_predicate(state), _by_predicate(goal)
    where, inside, lifted = dict(now["at"]), dict(now["in"]), dict(now["lifting"])
    towers = _Towers(now, then)
    free = {h: where[h] for h, s in sorts.items() if s == "hoist" and h not in lifted}
    trucks = [t for t, s in sorts.items() if s == "truck"]

    surfaces = [one for one, sort in sorts.items() if sort in ("crate", "pallet")]

    def aims(crate: str) -> List[str]:
        return towers.aims(crate, surfaces)

    drop, load, unload, lift = [], [], [], []
    meet: Set[str] = set()  # places where a lifted crate waits for a truck
    fetch: Set[str] = set()  # places where a crate is to be lifted, without a truck
    bring: List[Action] = []  # ways to places where a crate can be put
    for hoist, crate in lifted.items():
        place = where[hoist]
        found = [aim for aim in aims(crate) if where[aim] == place]
        drop += [("drop", hoist, crate, aim, place) for aim in found]
        if not found:
            there = [t for t in trucks if where[t] == place]
            load += [("load", hoist, crate, t, place) for t in there]
            if not there:
                meet.add(place)
    for crate, truck in inside.items():
        places = {where[aim] for aim in aims(crate)}
        if where[truck] in places:
            here = [h for h in free if free[h] == where[truck]]
            unload += [("unload", h, crate, truck, where[truck]) for h in here]
        else:
            bring += [("drive", truck, where[truck], place) for place in sorted(places)]
    for crate, under in towers.under.items():
        if crate in towers.covered or towers.stays(crate):
            continue
        place = where[crate]
        direct = any(where[aim] == place for aim in aims(crate))
        if direct or any(where[t] == place for t in trucks):
            lift += [("lift", h, crate, under, place) for h in free if free[h] == place]
        else:
            fetch.add(place)

    def drives(places: Set[str]) -> List[Action]:
        return [("drive", t, where[t], place) for t in trucks for place in places]

    return drop or load or drives(meet) or unload or lift or drives(fetch) or bring


_RULES: Mapping[str, Callable[[State, State, Mapping[str, str]], List[Action]]] = {
    "blocksworld": _blocksworld,
    "depots": _depots,
    "gripper": _gripper,
    "logistics": _logistics,
    "visitall": _visitall,
}
