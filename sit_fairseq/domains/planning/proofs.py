"""Proofs that a problem has no plan."""

from dataclasses import replace
from typing import Optional, Set

from sit_fairseq.domains.planning.applicable import applicable
from sit_fairseq.domains.planning.strips import (
    Atom,
    PlanningDomain,
    Problem,
    State,
    apply,
)

# The most actions, and the most states, that a proof looks at.
_ACTIONS, _STATES = 200_000, 10_000


def beyond_reach(domain: PlanningDomain, problem: Problem) -> Optional[Atom]:
    """An atom of the goal that would never hold even if nothing ceased to hold (Bonet and Geffner
    2001); None if there is none, or to find it would take too long."""
    lasting = {
        name: replace(operator, delete=(), without=())
        for name, operator in domain.operators.items()
    }
    relaxed, state, looked = replace(domain, operators=lasting), problem.initial, 0
    while not problem.goal <= state:
        more = state
        for action in applicable(relaxed, state, problem.sorts):
            more = more.union(apply(relaxed, frozenset(), action))
            looked += 1
            if looked > _ACTIONS:
                return None
        if more == state:
            return min(problem.goal - state)
        state = more
    return None


def has_plan(domain: PlanningDomain, problem: Problem, most: int = _STATES) -> Optional[bool]:
    """Whether the goal holds in some state that can be reached; None if ``most`` states do not
    tell."""
    seen: Set[State] = {problem.initial}
    waiting = [problem.initial]
    for state in waiting:
        if problem.goal <= state:
            return True
        for action in applicable(domain, state, problem.sorts):
            after = apply(domain, state, action)
            if after not in seen:
                if len(seen) == most:
                    return None
                seen.add(after)
                waiting.append(after)
    return False
