"""Plans for problems in PDDL, for ``sit answer planning``."""

from functools import cached_property
from itertools import chain, islice
from typing import (
    Any,
    Callable,
    Dict,
    FrozenSet,
    Iterable,
    Iterator,
    List,
    Mapping,
    Optional,
    Sequence,
    Tuple,
    Union,
)

from sit_fairseq.domains.planning import learnt
from sit_fairseq.domains.planning.kinds import by_kind
from sit_fairseq.domains.planning.matching import Match, matches
from sit_fairseq.domains.planning.pddl_files import (
    PddlProblem,
    read_domain,
    read_problem,
    read_text,
)
from sit_fairseq.domains.planning.proofs import beyond_reach, shortest
from sit_fairseq.domains.planning.sentences import Writer
from sit_fairseq.domains.planning.strips import execute, written
from sit_fairseq.domains.solver import Limits, Solved, Solver, Status
from sit_fairseq.errors import UserError

# The most states that the model is asked about before it is asked whether there is a plan at all.
_FIRST = 200

# The most ways to see a problem as one that the model knows, which are tried for known words.
_WAYS = 50

_UNVERIFIED: Mapping[Optional[bool], str] = {
    True: "the search found no plan, though one exists",
    None: "the search found no plan, and whether one exists is unknown",
}


def best(
    ways: Iterable[Match], words: FrozenSet[str], numbered: bool = True
) -> Tuple[Match, Writer]:
    """Chooses one of the matches of a problem, and makes the writer of its sentences.

    Matches for all of which the model has ``words`` come before others. Of several such matches the
    one whose sentence is the least is chosen: names in the file do not change sentences. If the model
    lacks words for every match, the first one is chosen. ``numbered`` is for :class:`Writer`.
    """
    every = [
        (one, Writer(one.learnt, one.domain, one.problem, words, numbered))
        for one in islice(ways, _WAYS)
    ]
    good = [pair for pair in every if _known(pair[1])] or every[:1]
    return min(good, key=lambda pair: pair[1].sentence(pair[0].problem.initial))


class PlanSolver(Solver):
    """Finds plans for problems in PDDL, and prints those that were executed.

        sit answer planning domain.pddl problem.pddl
        sit answer planning domain.pddl problems/*.pddl --output plans

    The domain is one that the model has learnt, whatever the file calls predicates, actions and types.
    ``-v`` says what corresponds. ``sit train planning`` teaches other domains.
    PDDL is read as far as it is STRIPS with types, constants, equality, preconditions and goals after
    ``not``, and action costs, which are ignored.

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

    switches = {
        "no_matching": "take names of predicates and actions as they are, not by their structure",
        "no_numbering": "number objects in the order of the file, not by the part they have",
    }

    no_matching = no_numbering = False

    def __init__(self, domain: Any, given: Any, load: Callable[..., Any], limits: Limits) -> None:
        if len(given) < 2:
            raise UserError("name a file with a domain, and then files with problems of it")
        super().__init__(domain, given[1:], load, limits)
        _, self._domain = given[0]
        read = read_domain(read_text(self._domain), self._domain)
        self._note = "action costs are ignored" if read.costs else ""
        self._tasks: List[Union[PddlProblem, Solved]] = []
        self._about: Dict[int, str] = {}
        for _, path in self.problems:
            try:
                self._tasks.append(read_problem(read_text(path), path, read))
            except UserError as error:
                self._tasks.append(Solved(Status.unreadable, reason=str(error)))

    @cached_property
    def _learnt(self) -> List[learnt.Learnt]:
        """The domains beside the model."""
        return learnt.read(self.model.folder)

    def about(self, place: int) -> str:
        """Names the domain of a problem, and its words in the file; empty where none was found."""
        return self._about.get(place, "")

    def right(self, place: int, text: str) -> bool:
        """Whether a text is a plan, an action a line, that can be executed and reaches the goal."""
        task = self._tasks[place]
        lines = text.split("\n") if text else []
        plan = [tuple(line[1:-1].split()) for line in lines]
        if isinstance(task, Solved) or [written(action) for action in plan] != lines:
            return False
        return execute(*by_kind(task), plan) is None

    def confirms(self, place: int, noted: Solved) -> bool:
        if noted.status is Status.verified and not self.right(place, noted.text):
            raise ValueError(f"it is no plan for {self.problems[place]}")
        return noted.status is Status.verified

    def answers(self, places: Sequence[int]) -> Iterator[Tuple[int, Solved]]:
        left: Dict[int, Tuple[Match, Writer]] = {}
        for place in places:
            task = self._tasks[place]
            if isinstance(task, Solved):
                yield place, task
                continue
            goal = beyond_reach(*by_kind(task))
            if goal is not None:
                yield place, _none(f"no action leads to {goal}", task.domain.domain.name)
                continue
            try:
                left[place] = self._matched(task)
                self._about[place] = str(left[place][0])
            except UserError as error:
                yield place, Solved(Status.unanswered, reason=str(error))
        if left:
            yield from self._search(left)

    def _matched(self, task: PddlProblem) -> Tuple[Match, Writer]:
        """The match of a problem and the writer of its sentences; a UserError if the model cannot be
        asked."""
        model = self.model
        ways = matches(task, self._domain, self._learnt, not self.no_matching)
        found = next(ways)
        # Of a strict order the sentence has the single steps alone.
        ordered = found.learnt.ordered
        words = 1 + sum(atom[0] not in ordered for atom in found.problem.initial)
        if words < model.longest:
            known = frozenset(model.base_tokens)
            found, writer = best(chain([found], ways), known, not self.no_numbering)
            atom = writer.lacking()
            if atom is not None:
                names = {name: other for name, (other, _) in found.predicates.items()}
                atom = (names.get(atom[0], atom[0]), *atom[1:])
                raise UserError(
                    f"the model was trained on nothing like {written(atom)}; change --path"
                )
            words = len(writer.sentence(found.problem.initial))
        if words >= model.longest:
            raise UserError(
                f"the problem has {len(found.problem.sorts):,} objects, which take {words:,} words or "
                f"more; the model reads {model.longest - 1:,}; leave objects out"
            )
        return found, writer

    def _search(self, left: Dict[int, Tuple[Match, Writer]]) -> Iterator[Tuple[int, Solved]]:
        from sit_fairseq.domains.planning.solving import (  # imports torch
            ModelActions,
            PlanSearch,
            solve,
        )

        ask = ModelActions(self.model)
        possible: Dict[int, Optional[bool]] = {}
        beams = self.limits.beams
        quick = PlanSearch(width=beams[0], budget=_FIRST)
        for search in (quick, *(PlanSearch(width=width) for width in beams)):
            asked = list(left)
            for at, found in solve(ask, [left[place][1] for place in asked], search):
                place, (task, writer) = asked[at], left[asked[at]]
                notes, plan = [self._note], found.plan and list(map(task.in_file, found.plan))
                if plan is None and place not in possible:
                    seen = writer.domain, writer.problem
                    possible[place], known = shortest(*seen, order=writer.written)
                    if possible[place] is False:
                        del left[place]
                        yield place, _none(
                            "no state that can be reached has the goal", task.learnt.domain.name
                        )
                    elif known and _untold(task, writer):
                        plan = list(map(task.in_file, known))
                        notes.append(f"found without the model, which {_untold(task, writer)}")
                text = None if plan is None else "\n".join(map(written, plan))
                if text is not None and self.right(place, text):
                    del left[place]
                    more = {"domain": task.domain.name, "actions": len(plan)}
                    note = "; ".join(filter(None, notes))
                    yield place, Solved(
                        Status.verified, answer=text, text=text, reason=note, more=more
                    )
        for place, (task, writer) in left.items():
            untold = _untold(task, writer)
            advice = f"; the model {untold}; change --path" if untold else ""
            reason = _UNVERIFIED[possible.get(place)] + advice
            more = {"domain": task.domain.name}
            yield place, Solved(Status.unverified, reason=reason, decided=False, more=more)


def _known(writer: Writer) -> bool:
    """Whether a model has words for all of a problem."""
    return not writer.untold and writer.lacking() is None


def _untold(task: Match, writer: Writer) -> str:
    """Warns of parts of the goal that the model has no word for; empty if it knows all."""
    new = " or ".join(sorted(task.predicates[name][0] for name in writer.untold))
    return f"was trained on no goal with {new}" if new else ""


def _none(reason: str, domain: str) -> Solved:
    return Solved(Status.impossible, reason=reason, more={"domain": domain})
