"""Sentences: a state and a goal as the model reads them, and an action as it answers.

A sentence is a word for the domain, then atoms in any order, each a predicate and its objects:

    ferry: ferry.at a1 b2 ferry.at-ferry b1 ferry.empty-ferry ferry.at? a1 b1

Atoms that hold are plain (``at``), those of the goal that do not hold yet have a question mark
(``at?``), those of the goal that hold an exclamation mark (``at!``). Of atoms that must not hold in
the end ``at-?`` says that they do, ``at-!`` that they do not. An answer is an action,
``ferry.sail b1 b2``. Objects are symbols, named by their sort and a number.

Left out is what makes no difference: static atoms that no action asks for, and atoms that nothing
asks for or deletes, once they hold. Two static atoms in both directions are one (``road~``), and of
a strict order the steps are written (``above<``). ``is`` names an object of no atom, ``the-KITCHEN``
one that actions name.
"""

from collections import Counter, defaultdict
from random import Random
from typing import (
    Any,
    Container,
    Dict,
    FrozenSet,
    Iterable,
    List,
    Mapping,
    Optional,
    Sequence,
    Set,
    Tuple,
)

from sit_fairseq.domains.planning.learnt import Learnt
from sit_fairseq.domains.planning.strips import Action, Atom, PlanningDomain, Problem, State
from sit_fairseq.domains.planning.symmetry import MOST, distinct, marked, refined

_WANTED, _REACHED, _STEP, _NOT = "?", "!", "<", "-"


class Writer:
    """Writes the states of a problem, and reads actions.

    Args:
        learnt: how the domain is written.
        domain: the domain as the problem has it, in the names that were learnt.
        problem: in these names, but for those of objects.
        words: those that a model has; None for all. It is told nothing else.
        numbered: whether names in sentences are given by :func:`naming`; else by the order of the
            problem's objects.

    Attributes:
        domain, problem: as above.
        untold: predicates of the goal of which the model is told nothing.
    """

    def __init__(
        self,
        learnt: Learnt,
        domain: PlanningDomain,
        problem: Problem,
        words: Optional[Container[str]] = None,
        numbered: bool = True,
    ) -> None:
        self.domain, self.problem, self._learnt, self._words = domain, problem, learnt, words
        # Actions tell constants apart.
        places = enumerate(domain.constants)
        fixed = {one: (problem.sorts[one], n) for n, one in places if one in problem.sorts}
        self._kinds: Dict[str, Any] = {**problem.sorts, **fixed}
        self._names = (
            naming(problem, self._kinds) if numbered else _in_order(problem, problem.sorts)
        )
        self._objects = {new: old for old, new in self._names.items()}
        self.untold: Set[str] = set()
        self._goal = self._told(problem.goal, _WANTED)
        self._without = self._told(problem.without, _NOT + _WANTED)
        operators = domain.operators.values()
        asked = {a[0] for o in operators for a in (*o.before, *o.without)}
        deleted = {a[0] for o in operators for a in o.delete}
        self._useless = set(domain.predicates) - asked
        self._done = self._useless - deleted
        self._shared = {learnt.both_ways(name) for name in domain.static}
        self._fixed = self._static(asked)
        self._asked = _asked(problem)

    def sentence(self, state: State, rng: Optional[Random] = None) -> List[str]:
        """The tokens of a state, atoms in random order.

        Which order is drawn depends on the names of objects in sentences, so that they are given by
        what names in files have no part in.
        """
        rng = rng or Random(0)
        atoms = sorted(self._atoms(renamed(state, self._names)))
        if self._words is not None:
            atoms = [atom for atom in atoms if atom[0] in self._words]
        rng.shuffle(atoms)
        tokens = [self._learnt.first]
        for word, *objects in atoms:
            if word in self._shared and rng.random() < 0.5:
                objects.reverse()
            tokens += [word, *objects]
        return tokens

    def choices(self, state: State, actions: Iterable[Action]) -> Dict[Action, int]:
        """One of each set of actions that are alike but for names, with their number.

        A symbol-invariant model gives each of them the same probability.
        """
        return distinct(actions, self._kinds, [*state, *self._asked])

    def written(self, action: Action) -> List[str]:
        """The tokens of an action."""
        return [self._learnt.word(action[0]), *(self._names[name] for name in action[1:])]

    def action(self, tokens: Sequence[str]) -> Action:
        """The action of some tokens."""
        name = tokens[0][len(self._learnt.prefix) :]
        return (name, *(self._objects[one] for one in tokens[1:]))

    def lacking(self) -> Optional[Atom]:
        """An atom of the first state for which the model has no word; None if there is none."""
        if self._words is None:
            return None
        hidden = {self._learnt.word(name) for name in (*self._learnt.unwritten, "is")}
        for word, *objects in sorted(self._atoms(renamed(self.problem.initial, self._names))):
            if word not in self._words and word not in hidden:
                name = word[len(self._learnt.prefix) :].rstrip(_REACHED + _STEP + "~")
                return (name, *(self._objects[one] for one in objects))
        return None

    def _known(self, name: str) -> bool:
        return self._words is None or self._learnt.word(name) in self._words

    def _told(self, goal: State, mark: str) -> State:
        """The atoms of a goal that a model has words for, in the names of sentences."""
        told = {atom for atom in goal if self._known(f"{atom[0]}{mark}")}
        self.untold |= {atom[0] for atom in goal - told}
        return renamed(told, self._names)

    def _static(self, asked: Set[str]) -> List[Atom]:
        """The words and objects of what no action changes."""
        learnt, pairs = self._learnt, defaultdict(set)
        # What the domain that was learnt calls an object, and what the problem does.
        constants = zip(learnt.domain.constants, self.domain.constants)
        found = [
            (learnt.word(f"the-{known}"), self._names[name])
            for known, name in constants
            if name in self._names
        ]
        for atom in renamed(self.problem.initial, self._names):
            if atom[0] not in self.domain.static or atom[0] not in asked:
                continue
            if len(atom) == 3:
                pairs[atom[0]].add(atom[1:])
            else:
                found.append((learnt.word(atom[0]), *atom[1:]))
        for name, some in pairs.items():
            both = {pair for pair in some if pair[::-1] in some}
            word = learnt.word(name)
            found += [(learnt.both_ways(name), *pair) for pair in both if pair[0] <= pair[1]]
            if name in learnt.ordered and is_order(some):
                word, some = f"{word}{_STEP}", steps(some)
            found += [(word, *pair) for pair in some - both]
        return found

    def _atoms(self, state: State) -> List[Atom]:
        """The words and objects of a state in the names of sentences."""
        learnt, goal, found = self._learnt, self._goal, list(self._fixed)
        found += [(learnt.word(f"{a[0]}{_WANTED}"), *a[1:]) for a in goal - state]
        for atom in self._without:
            name = f"{atom[0]}{_NOT}{_WANTED if atom in state else _REACHED}"
            found += [(learnt.word(name), *atom[1:])] if self._known(name) else []
        for atom in state:
            name = atom[0]
            if name in self.domain.static or name in self._done:
                continue
            reached = atom in goal
            if reached and self._known(f"{name}{_REACHED}"):
                name = f"{name}{_REACHED}"
            elif name in self._useless and not reached or name in learnt.unwritten:
                continue
            found.append((learnt.word(name), *atom[1:]))
        there = {name for atom in found for name in atom[1:]}
        found += [(learnt.word("is"), name) for name in self._objects if name not in there]
        return found


def is_order(pairs: Set[Tuple[str, str]]) -> bool:
    """Whether a relation is a strict order."""
    after = _after(pairs)
    strict = all((y, x) not in pairs for x, y in pairs)
    return strict and all(after.get(y, set()) <= after[x] for x, y in pairs)


def steps(pairs: Set[Tuple[str, str]]) -> Set[Tuple[str, str]]:
    """The pairs of a strict order with nothing between them."""
    after = _after(pairs)
    return {(x, y) for x, y in pairs if not any(y in after.get(z, ()) for z in after[x])}


def _after(pairs: Set[Tuple[str, str]]) -> Dict[str, Set[str]]:
    found: Dict[str, Set[str]] = {}
    for one, other in pairs:
        found.setdefault(one, set()).add(other)
    return found


def naming(problem: Problem, kinds: Optional[Mapping[str, Any]] = None) -> Dict[str, str]:
    """The names that objects have in sentences, by their names in the problem.

    They depend on the part that an object has in the problem, and on its kind, by default its sort. Of
    objects that look alike the first of the file is marked, which may tell others apart, and so on:
    where they are alike, it does not matter which was marked, so that the order of the file has no part
    either. It has one only between objects that differ and that no refinement tells apart; and in
    problems so large that marking one after the other would take long.
    """
    atoms = [*problem.initial, *_asked(problem)]
    numbers, _ = refined(kinds or problem.sorts, atoms)
    alike = len(numbers) - len(set(numbers.values()))
    if alike * (len(atoms) + len(numbers)) > MOST:
        places = {name: (numbers[name], place) for place, name in enumerate(problem.sorts)}
        return _in_order(problem, sorted(places, key=places.get))
    while len(set(numbers.values())) < len(numbers):
        sizes = Counter(numbers.values())
        alike = min(one for one, size in sizes.items() if size > 1)
        one = next(name for name in problem.sorts if numbers[name] == alike)
        numbers, _ = marked(one, numbers, atoms)
    return _in_order(problem, sorted(problem.sorts, key=lambda name: numbers[name]))


def _asked(problem: Problem) -> List[Atom]:
    """The atoms of a problem's goal, told from those of a state."""
    goal = [(f"{a[0]}{_WANTED}", *a[1:]) for a in problem.goal]
    return goal + [(f"{a[0]}{_NOT}{_WANTED}", *a[1:]) for a in problem.without]


def _in_order(problem: Problem, objects: Sequence[str]) -> Dict[str, str]:
    """Names by sort and number, in the order of some objects."""
    count: Dict[str, int] = defaultdict(int)
    names = {}
    for name in objects:
        sort = problem.sorts[name]
        count[sort] += 1
        names[name] = f"{sort}{count[sort]}"
    return names


def renamed(atoms: State, names: Mapping[str, str]) -> FrozenSet[Atom]:
    """Atoms with other names of the objects."""
    return frozenset((atom[0], *(names[name] for name in atom[1:])) for atom in atoms)
