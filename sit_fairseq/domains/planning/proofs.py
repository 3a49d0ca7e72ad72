"""Proofs by a problem's states, without a model: that it has no plan, or a shortest one."""

from dataclasses import replace
from typing import Any, Callable, List, NamedTuple, Optional, Tuple

from sit_fairseq.domains.planning.applicable import applicable
from sit_fairseq.domains.planning.strips import (
    Action,
    PlanningDomain,
    Problem,
    State,
    apply,
    written,
)

# The most states, with the most atoms in all, and the most actions, that are looked at: some seconds,
# and some tens of megabytes.
MOST_STATES, _ATOMS, _ACTIONS = 10_000, 5_000_000, 200_000


def beyond_reach(domain: PlanningDomain, problem: Problem) -> Optional[str]:
    """A part of the goal that never holds; None if none is found, or to find it would take too long.
    An atom would not hold even if nothing ceased to hold (Bonet and Geffner 2001), or what must not
    hold never ceases to."""
    deleted = {atom[0] for operator in domain.operators.values() for atom in operator.delete}
    for atom in sorted(problem.without & problem.initial):
        if atom[0] not in deleted:
            return f"(not {written(atom)})"
    lasting = {
        name: replace(operator, delete=(), without=())
        for name, operator in domain.operators.items()
    }
    relaxed, state, looked = replace(domain, operators=lasting), problem.initial, 0
    while not problem.goal <= state:
        more = set(state)
        for action in applicable(relaxed, state, problem.sorts):
            more |= apply(relaxed, frozenset(), action)
            looked += 1
            if looked > _ACTIONS:
                return None
        if more == state:
            return written(min(problem.goal - state))
        state = frozenset(more)
    return None


class Graph(NamedTuple):
    """States that can be reached.

    Attributes:
        states: the nearest first.
        after: what each action of a state leads to, by its place, for the first of the states.
        whole: whether these are all states and actions.
    """

    states: List[State]
    after: List[List[Tuple[Action, int]]]
    whole: bool


def visited(
    domain: PlanningDomain,
    problem: Problem,
    most: int = MOST_STATES,
    to_goal: bool = False,
    order: Optional[Callable[[Action], Any]] = None,
) -> Graph:
    """Visits ``most`` states, fewer where states are large or have many actions; or all up to the first
    that is as it must be in the end. Actions are sorted by the key ``order``, else by their names.
    """
    most, left = min(most, _ATOMS // (len(problem.initial) + 1)), _ACTIONS
    places = {problem.initial: 0}
    graph = Graph([problem.initial], [], False)
    if to_goal and problem.reached(problem.initial):
        return graph
    for state in graph.states:
        graph.after.append([])
        for action in sorted(applicable(domain, state, problem.sorts), key=order):
            found = apply(domain, state, action)
            left -= 1
            if left < 0 or found not in places and len(places) >= most:
                return graph
            if found not in places:
                places[found] = len(places)
                graph.states.append(found)
            graph.after[-1].append((action, places[found]))
            if to_goal and problem.reached(found):
                return graph
    return graph._replace(whole=True)


def shortest(
    domain: PlanningDomain,
    problem: Problem,
    most: int = MOST_STATES,
    order: Optional[Callable[[Action], Any]] = None,
) -> Tuple[Optional[bool], List[Action]]:
    """Whether there is a plan, None if the states that are visited do not tell; and a shortest one, the
    first in the ``order`` of :func:`visited`."""
    graph, plan = visited(domain, problem, most, True, order), []
    place = len(graph.states) - 1
    if not problem.reached(graph.states[place]):
        return (False if graph.whole else None), []
    while place:
        ways = (
            (b, action) for b, some in enumerate(graph.after) for action, to in some if to == place
        )
        place, action = next(ways)
        plan.insert(0, action)
    return True, plan
