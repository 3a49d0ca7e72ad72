"""Ways to answer planning problems, and how many problems, actions and seconds each takes.

- *greedy*: the model's first action that changes the state, with no way back
- *onward*: its first action that leads to a new state, with no way back
- *search*: five actions of the model, the best first; the search goes back where all lead to states
  seen before. ``sit answer planning`` does so
- *wide*: the same, from four states at once
- *random*: the same as search over applicable actions in random order, without a model
- *goal count*: best-first search by the number of atoms of the goal that are left, without a model

All ask about 1,000 states of a problem at most.
"""

from heapq import heappop, heappush
from time import process_time
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from examples.planning.chance import random_actions
from sit_fairseq.domains.planning.applicable import applicable
from sit_fairseq.domains.planning.sentences import Writer
from sit_fairseq.domains.planning.solving import ModelActions, PlanSearch, solve
from sit_fairseq.domains.planning.strips import Action, apply
from sit_fairseq.evaluation.in_time import in_time
from sit_fairseq.model import Model

NAMES = ("greedy", "onward", "search", "wide", "random", "goal count")
_STATES = 1000


class Outcome(NamedTuple):
    """A plan, or None, and the number of states that were asked about."""

    plan: Optional[List[Action]]
    calls: int


# Yields what came of some problems, with their places.
Way = Callable[[Sequence[Writer]], Iterator[Tuple[int, Outcome]]]


def way_of(name: str, model: Optional[Model]) -> Way:
    """A way by its name; those without a model need none."""
    if name == "goal count":
        return goal_count
    if name == "random":
        return _searched(random_actions, PlanSearch(budget=_STATES))
    actions = 1 if name in ("greedy", "onward") else 5
    options = PlanSearch(4 if name == "wide" else 1, _STATES, onward=name != "greedy")
    return _searched(ModelActions(model, actions), options)


def _searched(ask: Callable, options: PlanSearch) -> Way:
    def way(writers: Sequence[Writer]) -> Iterator[Tuple[int, Outcome]]:
        for place, found in solve(ask, writers, options):
            yield place, Outcome(found.plan, found.calls)

    return way


def goal_count(writers: Sequence[Writer], states: int = _STATES) -> Iterator[Tuple[int, Outcome]]:
    """Best-first search by the number of atoms of the goal that do not hold."""
    for place, writer in enumerate(writers):
        domain, problem = writer.domain, writer.problem
        goal, calls = problem.goal, 0
        front: List[Tuple[int, int, Any, List[Action]]] = [
            (len(goal - problem.initial), 0, problem.initial, [])
        ]
        seen, plan = {problem.initial}, None
        while front and calls < states:
            _, _, state, actions = heappop(front)
            if problem.reached(state):
                plan = actions
                break
            calls += 1
            for action in sorted(applicable(domain, state, problem.sorts)):
                after = apply(domain, state, action)
                if after not in seen:
                    seen.add(after)
                    heappush(front, (len(goal - after), len(seen), after, [*actions, action]))
        yield place, Outcome(plan, calls)


def measure(writers: Sequence[Writer], way: Way, seconds: float) -> Dict[str, Any]:
    """Tries a way on problems, each within some seconds.

    Returns:
        ``plans`` by the place of a problem; the mean ``calls`` of the problems that ended in time; and
        the mean CPU ``seconds`` of all.
    """
    started, outcomes = process_time(), {}

    def work(places: List[int]) -> Iterator[Tuple[int, Outcome]]:
        for place, outcome in way([writers[place] for place in places]):
            yield places[place], outcome

    for place, outcome in in_time(range(len(writers)), work, seconds):
        if outcome is not None:
            outcomes[place] = outcome
    calls = sum(one.calls for one in outcomes.values())
    return {
        "plans": {
            str(n): outcomes[n].plan for n in sorted(outcomes) if outcomes[n].plan is not None
        },
        "calls": calls / max(1, len(outcomes)),
        "seconds": (process_time() - started) / max(1, len(writers)),
    }
