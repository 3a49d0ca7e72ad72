"""STRIPS: states, actions, and what an action does to a state (Fikes and Nilsson 1971).

An atom is a tuple ``("on", "b1", "b2")``, a predicate and its objects. Types are static unary
predicates, which begin no atom of a state: an object has one sort. A ground action is a tuple
``("stack", "b1", "b2")``, an operator and its objects.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import FrozenSet, Iterable, Iterator, Mapping, Optional, Sequence, Tuple

Atom = Tuple[str, ...]
Action = Tuple[str, ...]
State = FrozenSet[Atom]


@dataclass(frozen=True)
class Operator:
    """An action schema.

    Attributes:
        name: of the action.
        parameters: the sorts that each parameter may have, by the name of the parameter.
        before: atoms over parameters and certain objects that must hold.
        without: such atoms that must not hold.
        add: atoms that hold afterwards.
        delete: atoms that hold no longer; one that is added, too, holds.
        distinct: pairs of parameters, or certain objects, that must be different objects.
        same: such pairs that must be one object.
    """

    name: str
    parameters: Mapping[str, FrozenSet[str]]
    before: Tuple[Atom, ...]
    add: Tuple[Atom, ...]
    delete: Tuple[Atom, ...]
    without: Tuple[Atom, ...] = ()
    distinct: Tuple[Tuple[str, str], ...] = ()
    same: Tuple[Tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Problem:
    """A problem of a domain: what there is, what holds, and what is to hold.

    Attributes:
        sorts: the sort of each object, by its name.
        initial: the atoms that hold, static ones too.
        goal: the atoms that must hold in the end.
        without: those that must not.
    """

    sorts: Mapping[str, str]
    initial: State
    goal: State
    without: State = frozenset()

    def reached(self, state: State) -> bool:
        """Whether a state is as it must be in the end."""
        return self.goal <= state and self.without.isdisjoint(state)


@dataclass(frozen=True)
class PlanningDomain:
    """A domain: what all its problems share.

    Attributes:
        name: of the domain.
        predicates: the number of objects of each predicate.
        operators: by name.
    """

    name: str
    predicates: Mapping[str, int]
    operators: Mapping[str, Operator]

    @cached_property
    def static(self) -> FrozenSet[str]:
        """The predicates that no action changes."""
        operators = self.operators.values()
        changed = {atom[0] for operator in operators for atom in operator.add + operator.delete}
        return frozenset(self.predicates) - changed

    @cached_property
    def constants(self) -> Tuple[str, ...]:
        """The objects that operators name: in atoms, then in what must differ or be the same."""
        operators = self.operators.values()
        terms = [
            *((o, t) for o in operators for a in _atoms_of(o) for t in a[1:]),
            *((o, t) for o in operators for pair in (*o.distinct, *o.same) for t in pair),
        ]
        return tuple(dict.fromkeys(t for o, t in terms if t not in o.parameters))


def _atoms_of(operator: Operator) -> Tuple[Atom, ...]:
    return (*operator.before, *operator.without, *operator.add, *operator.delete)


@dataclass(frozen=True)
class Failure:
    """Why a plan fails.

    Attributes:
        step: the number of the action, from 1; after the last one if the goal does not hold.
        reason: a sentence.
    """

    step: int
    reason: str

    def __str__(self) -> str:
        return f"step {self.step}: {self.reason}"


def written(atom: Sequence[str]) -> str:
    """An atom or an action as PDDL has it, ``(on b1 b2)``."""
    return f"({' '.join(atom)})"


def ground(atoms: Iterable[Atom], objects: Mapping[str, str]) -> Iterator[Atom]:
    """Atoms over parameters, with an object for each parameter."""
    return ((atom[0], *(objects.get(term, term) for term in atom[1:])) for atom in atoms)


def misfit(operator: Operator, objects: Mapping[str, str]) -> Optional[Tuple[str, str]]:
    """Two objects of which an operator wants the opposite: to differ, or to be the same one; None
    if there are none. ``objects`` has one for each parameter."""
    for pairs, equal in ((operator.distinct, False), (operator.same, True)):
        for one, other in pairs:
            found = objects.get(one, one), objects.get(other, other)
            if (found[0] == found[1]) != equal:
                return found
    return None


def apply(domain: PlanningDomain, state: State, action: Action) -> State:
    """The state after an action, which must be applicable."""
    operator = domain.operators[action[0]]
    objects = dict(zip(operator.parameters, action[1:]))
    return state.difference(ground(operator.delete, objects)).union(ground(operator.add, objects))


def obstacle(
    domain: PlanningDomain, state: State, sorts: Mapping[str, str], action: Action
) -> Optional[str]:
    """Why an action of the domain over known objects is not applicable; None if it is."""
    operator = domain.operators[action[0]]
    objects = dict(zip(operator.parameters, action[1:]))
    for parameter, allowed in operator.parameters.items():
        name = objects[parameter]
        if sorts[name] not in allowed:
            return f"{written(action)} cannot have the {sorts[name]} {name}"
    pair = misfit(operator, objects)
    if pair is not None:
        return f"{written(action)} cannot have {pair[0]} and {pair[1]} in these places"
    for atom in ground(operator.before, objects):
        if atom not in state:
            return f"{written(action)} needs {written(atom)}"
    for atom in ground(operator.without, objects):
        if atom in state:
            return f"{written(action)} is barred by {written(atom)}"
    return None


def execute(domain: PlanningDomain, problem: Problem, plan: Iterable[Action]) -> Optional[Failure]:
    """Executes a plan from the initial state of a problem; None if the goal holds in the end."""
    state, step = problem.initial, 0
    for step, action in enumerate(plan, start=1):
        operator = domain.operators.get(action[0]) if action else None
        if operator is None:
            return Failure(step, f"there is no action {written(action[:1])}")
        if len(action) - 1 != len(operator.parameters):
            wanted = f"{action[0]} has {len(operator.parameters)} objects, not {len(action) - 1}"
            return Failure(step, wanted)
        unknown = [name for name in action[1:] if name not in problem.sorts]
        if unknown:
            return Failure(step, f"there is no object {unknown[0]}")
        reason = obstacle(domain, state, problem.sorts, action)
        if reason is not None:
            return Failure(step, reason)
        state = apply(domain, state, action)
    for atom in sorted(problem.goal - state):
        return Failure(step + 1, f"the goal {written(atom)} does not hold")
    for atom in sorted(problem.without & state):
        return Failure(step + 1, f"the goal (not {written(atom)}) does not hold")
    return None
