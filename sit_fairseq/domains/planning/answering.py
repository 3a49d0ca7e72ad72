"""Plans for problems in PDDL, for ``sit answer planning``."""

from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from sit_fairseq.domains.planning.kinds import by_kind
from sit_fairseq.domains.planning.matching import Match, match
from sit_fairseq.domains.planning.pddl_files import read_domain, read_problem, read_text
from sit_fairseq.domains.planning.proofs import beyond_reach, has_plan
from sit_fairseq.domains.planning.sentences import one_way, wanted
from sit_fairseq.domains.planning.strips import (
    Action,
    PlanningDomain,
    Problem,
    execute,
    written,
)
from sit_fairseq.domains.solver import Solved, Solver
from sit_fairseq.errors import UserError

# The most states that the model is asked about before it is asked whether there is a plan at all.
_FIRST = 200

_UNVERIFIED: Mapping[Optional[bool], str] = {
    True: "the search found no plan, though one exists",
    None: "the search found no plan, and whether one exists is unknown",
}


@dataclass(frozen=True)
class _Task:
    """A problem of a file: as the file has it, by kind, and as one of a known domain."""

    domain: PlanningDomain
    problem: Problem
    known: Match

    def plan(self, actions: Sequence[Action]) -> str:
        """A plan of the known domain as the file has it, an action a line."""
        return "\n".join(written(self.known.in_file(action)) for action in actions)


class PlanSolver(Solver):
    """Finds plans for problems in PDDL, and prints those that were executed.

        sit answer planning domain.pddl problem.pddl
        sit answer planning domain.pddl problems/*.pddl --output plans

    The domain is known by its structure: Blocksworld with four operators, Depots, Gripper, Logistics
    or Visitall, whatever the file calls predicates, actions and types. ``-v`` says what corresponds.
    PDDL is read as far as it is STRIPS with types, equality after ``not``, and action costs, which
    are left out.

    The model gives the next action, which is executed, and so on. Each plan has been executed from
    the first state to the goal, in the domain of the file. An action stands on a line, such as
    ``(unstack b1 b2)``, under the name of the problem. Instead of a plan there may be *no plan
    exists*, which is proved; or *not verified*, if the search found none; or why the file cannot be
    read.

    The exit status is 0 if every problem has its plan or can have none, and 1 otherwise.
    """

    metavar = "DOMAIN.pddl PROBLEM.pddl"
    ending = ".plan"
    beams = "1,10"

    def __init__(self, paths: Sequence[str]) -> None:
        if len(paths) < 2:
            raise UserError("name a file with a domain, and then files with problems of it")
        domain, *self.problems = paths
        read = read_domain(read_text(domain), domain)
        self._tasks: List[Union[_Task, Solved]] = []
        for path in self.problems:
            status = "cannot be read"
            try:
                by = by_kind(read_problem(read_text(path), path, read))
                status = "cannot be answered"
                self._tasks.append(_Task(*by, match(*by, domain)))
            except UserError as error:
                self._tasks.append(Solved(status, reason=str(error)))

    def about(self, place: int) -> str:
        """Which known domain it is, and what corresponds."""
        task = self._tasks[place]
        return task.reason if isinstance(task, Solved) else str(task.known)

    def right(self, place: int, text: str) -> bool:
        """Whether a text is a plan, an action a line, that can be executed and reaches the goal."""
        task = self._tasks[place]
        lines = text.split("\n") if text else []
        plan = [tuple(line[1:-1].split()) for line in lines]
        if isinstance(task, Solved) or [written(action) for action in plan] != lines:
            return False
        return execute(task.domain, task.problem, plan) is None

    def solve(
        self, places: Sequence[int], load: Callable[[], Any], beams: Sequence[int]
    ) -> Iterator[Tuple[int, Solved]]:
        left: Dict[int, _Task] = {}
        for place in places:
            task = self._tasks[place]
            if isinstance(task, Solved):
                yield place, task
                continue
            goal = beyond_reach(task.domain, task.problem)
            if goal is not None:
                yield place, _none(f"no action leads to {written(goal)}", task)
            else:
                left[place] = task
        if not left:
            return
        from sit_fairseq.domains.planning.solving import ModelActions  # imports torch

        model = load()
        for place, task in list(left.items()):
            fault = _unlearnt(task.known, model.base_tokens)
            if fault is not None:
                del left[place]
                yield place, Solved("cannot be answered", reason=fault)
        yield from self._search(left, ModelActions(model), beams)

    def _search(
        self, left: Dict[int, _Task], ask: Any, beams: Sequence[int]
    ) -> Iterator[Tuple[int, Solved]]:
        from sit_fairseq.domains.planning.solving import PlanSearch, solve

        possible: Dict[int, Optional[bool]] = {}
        quick = PlanSearch(width=beams[0], budget=_FIRST)
        for search in (quick, *(PlanSearch(width=width) for width in beams)):
            asked = list(left)
            problems = [(left[p].known.domain, left[p].known.problem) for p in asked]
            for at, found in solve(ask, problems, search):
                place, task = asked[at], left[asked[at]]
                text = None if found.plan is None else task.plan(found.plan)
                if text is not None and self.right(place, text):
                    del left[place]
                    more = {"domain": task.known.domain.name, "actions": len(found.plan)}
                    yield place, Solved("verified", text, more=more)
                elif place not in possible:
                    possible[place] = has_plan(task.domain, task.problem)
                    if possible[place] is False:
                        del left[place]
                        yield place, _none("no state that can be reached has the goal", task)
        for place, task in left.items():
            more = {"domain": task.known.domain.name}
            yield place, Solved("not verified", reason=_UNVERIFIED[possible[place]], more=more)


def _unlearnt(known: Match, tokens: Sequence[str]) -> Optional[str]:
    """Why a model that knows only these tokens cannot be asked; None if it can."""
    if known.domain.name not in tokens:
        return f"the model was not trained on {known.domain.name}"
    if one_way(known.domain, known.problem.initial) and "connected" not in tokens:
        name, _ = known.predicates["connected"]
        return f"the model was trained on no {name} in one direction alone"
    names = {atom[0] for atom in known.problem.goal}
    new = sorted(known.predicates[name][0] for name in names if wanted(name) not in tokens)
    return f"the model was trained on no goal with {' or '.join(new)}" if new else None


def _none(reason: str, task: _Task) -> Solved:
    more = {"domain": task.known.domain.name}
    return Solved("no plan exists", reason=reason, proved=True, more=more)
