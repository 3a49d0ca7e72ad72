"""Plans for problems in PDDL, for ``sit answer planning``."""

from typing import (
    Any,
    Callable,
    Container,
    Dict,
    Iterator,
    List,
    Mapping,
    Optional,
    Sequence,
    Tuple,
)

from sit_fairseq.domains.planning.matching import Match, match
from sit_fairseq.domains.planning.pddl_files import read_domain, read_problem, read_text
from sit_fairseq.domains.planning.proofs import beyond_reach, visited
from sit_fairseq.domains.planning.sentences import atoms_of, one_way, wanted
from sit_fairseq.domains.planning.strips import execute, written
from sit_fairseq.domains.solver import Limits, Solved, Solver, Status
from sit_fairseq.errors import UserError

# The most states that the model is asked about before it is asked whether there is a plan at all.
_FIRST = 200

_UNVERIFIED: Mapping[Optional[bool], str] = {
    True: "the search found no plan, though one exists",
    None: "the search found no plan, and whether one exists is unknown",
}


class PlanSolver(Solver):
    """Finds plans for problems in PDDL, and prints those that were executed.

        sit answer planning domain.pddl problem.pddl
        sit answer planning domain.pddl problems/*.pddl --output plans

    The domain is known by its structure: Blocksworld with four operators, Depots, Gripper, Logistics
    or Visitall, whatever the file calls predicates, actions and types. ``-v`` says what corresponds.
    PDDL is read as far as it is STRIPS with types, constants, equality, preconditions after ``not``,
    and action costs, which are ignored.

    The model gives the next action, which is executed, and so on. Each plan has been executed from
    the first state to the goal, in the domain of the file. An action stands on a line, such as
    ``(unstack b1 b2)``, under the name of the problem. Instead of a plan there may be *no plan
    exists*, which is proved; or *not verified*, if the search found none, or none in ``--seconds``;
    or why the file cannot be read or answered.

    The exit status is 0 if every problem has its plan or can have none, and 1 otherwise.
    """

    metavar = "DOMAIN.pddl PROBLEM.pddl"
    ending = ".plan"
    none = "no plan exists"
    usual = Limits((1, 10), 300.0)

    def __init__(
        self,
        domain: Any,
        given: Sequence[Tuple[int, str]],
        load: Callable[..., Any],
        limits: Limits,
    ) -> None:
        if len(given) < 2:
            raise UserError("name a file with a domain, and then files with problems of it")
        super().__init__(domain, given[1:], load, limits)
        _, domain = given[0]
        read = read_domain(read_text(domain), domain)
        self._note = "action costs are ignored" if read.costs else ""
        self._tasks: List[Any] = []  # a Match, or what came of a problem without
        for _, path in self.problems:
            status = Status.unreadable
            try:
                problem = read_problem(read_text(path), path, read)
                status = Status.unanswered
                self._tasks.append(match(problem, domain))
            except UserError as error:
                self._tasks.append(Solved(status, reason=str(error)))

    def about(self, place: int) -> str:
        """Which known domain it is, and what corresponds."""
        task = self._tasks[place]
        return task.reason if isinstance(task, Solved) else str(task)

    def right(self, place: int, text: str) -> bool:
        """Whether a text is a plan, an action a line, that can be executed and reaches the goal."""
        task = self._tasks[place]
        lines = text.split("\n") if text else []
        plan = [tuple(line[1:-1].split()) for line in lines]
        if isinstance(task, Solved) or [written(action) for action in plan] != lines:
            return False
        return execute(*task.file, plan) is None

    def confirms(self, place: int, noted: Solved) -> bool:
        if noted.status is Status.verified and not self.right(place, noted.text):
            raise ValueError(f"it is no plan for {self.problems[place]}")
        return noted.status is Status.verified

    def answers(self, places: Sequence[int]) -> Iterator[Tuple[int, Solved]]:
        left: Dict[int, Match] = {}
        for place in places:
            task = self._tasks[place]
            if isinstance(task, Solved):
                yield place, task
                continue
            goal = beyond_reach(*task.file)
            fault = _unlearnt(task, self.model) if goal is None else None
            if goal is not None:
                yield place, _none(f"no action leads to {written(goal)}", task)
            elif fault is not None:
                yield place, Solved(Status.unanswered, reason=fault)
            else:
                left[place] = task
        if left:
            yield from self._search(left, self.model)

    def _search(self, left: Dict[int, Match], model: Any) -> Iterator[Tuple[int, Solved]]:
        from sit_fairseq.domains.planning.solving import (  # imports torch
            ModelActions,
            PlanSearch,
            solve,
        )

        ask, known = ModelActions(model), frozenset(model.base_tokens)
        possible: Dict[int, Optional[bool]] = {}
        beams = self.limits.beams
        quick = PlanSearch(width=beams[0], budget=_FIRST)
        for search in (quick, *(PlanSearch(width=width) for width in beams)):
            asked = list(left)
            problems = [(left[place].domain, left[place].problem) for place in asked]
            for at, found in solve(ask, problems, search, known):
                place, task = asked[at], left[asked[at]]
                notes, plan = [self._note], found.plan and list(map(task.in_file, found.plan))
                if plan is None and place not in possible:
                    possible[place], shortest = visited(*task.file)
                    if possible[place] is False:
                        del left[place]
                        yield place, _none("no state that can be reached has the goal", task)
                    elif shortest and _untold(task, known):
                        plan = shortest
                        notes.append(f"found without the model, which {_untold(task, known)}")
                text = None if plan is None else "\n".join(map(written, plan))
                if text is not None and self.right(place, text):
                    del left[place]
                    more = {"domain": task.domain.name, "actions": len(plan)}
                    note = "; ".join(filter(None, notes))
                    yield place, Solved(
                        Status.verified, answer=text, text=text, reason=note, more=more
                    )
        for place, task in left.items():
            untold = _untold(task, known)
            advice = f"; the model {untold}; change --path" if untold else ""
            reason = _UNVERIFIED[possible.get(place)] + advice
            more = {"domain": task.domain.name}
            yield place, Solved(Status.unverified, reason=reason, decided=False, more=more)


def _unlearnt(task: Match, model: Any) -> Optional[str]:
    """Why a model cannot be asked; None if it can."""
    if task.domain.name not in model.base_tokens:
        return f"the model was not trained on {task.domain.name}; change --path"
    if one_way(task.domain, task.problem.initial) and "connected" not in model.base_tokens:
        name, _ = task.predicates["connected"]
        return f"the model was trained on no {name} in one direction alone; change --path"
    words = 1 + sum(map(len, atoms_of(task.domain, task.problem.initial, task.problem.goal)))
    if words >= model.longest:
        return (
            f"the problem has {len(task.problem.sorts):,} objects, which take {words:,} words, more "
            f"than the {model.longest - 1:,} that the model reads; leave objects out"
        )
    return None


def _untold(task: Match, known: Container[str]) -> str:
    """What is to be said of a model that has no word for parts of the goal."""
    names = {atom[0] for atom in task.problem.goal if wanted(atom[0]) not in known}
    new = " or ".join(sorted(task.predicates[name][0] for name in names))
    return f"was trained on no goal with {new}" if new else ""


def _none(reason: str, task: Match) -> Solved:
    more = {"domain": task.domain.name}
    return Solved(Status.impossible, reason=reason, more=more)
