"""What a problem's states tell without a model: that it has no plan, or a shortest one."""

from dataclasses import replace
from typing import Dict, List, Optional, Tuple

from sit_fairseq.domains.planning.applicable import applicable
from sit_fairseq.domains.planning.strips import (
    Action,
    PlanningDomain,
    Problem,
    State,
    apply,
    written,
)

# The most actions, and the most states with the most atoms in all, that a proof looks at.
_ACTIONS, _STATES, _ATOMS = 200_000, 10_000, 5_000_000


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


def visited(
    domain: PlanningDomain, problem: Problem, most: int = _STATES
) -> Tuple[Optional[bool], List[Action]]:
    """Visits states, the nearest first.

    Returns:
        Whether there is a plan, None if ``most`` states, fewer where states are large, do not tell;
        and a shortest plan, if there is one.
    """
    most = min(most, _ATOMS // (len(problem.initial) + 1))
    before: Dict[State, Tuple[State, Action]] = {problem.initial: (problem.initial, ())}
    waiting = [problem.initial]
    for state in waiting:
        if problem.reached(state):
            plan: List[Action] = []
            while before[state][1]:
                state, action = before[state]
                plan.insert(0, action)
            return True, plan
        for action in applicable(domain, state, problem.sorts):
            after = apply(domain, state, action)
            if after not in before:
                if len(before) >= most:
                    return None, []
                before[after] = state, action
                waiting.append(after)
    return False, []
