"""Plans, step by step: the model is asked for the next action, it is executed, and so on.

A state that was seen before is not entered again, so that the search never goes in circles. Where
all actions lead to such states, it goes back to the last state with another way on.
"""

from dataclasses import dataclass
from math import log
from random import Random
from typing import Any, Callable, Container, Dict, Iterator, List, Optional, Sequence, Set, Tuple

from sit_fairseq.domains.planning.applicable import applicable
from sit_fairseq.domains.planning.grammar import ActionGrammar
from sit_fairseq.domains.planning.sentences import naming, read_sentence, renamed, sentence, wanted
from sit_fairseq.domains.planning.strips import (
    Action,
    PlanningDomain,
    Problem,
    State,
    apply,
    execute,
    obstacle,
)
from sit_fairseq.errors import UserError
from sit_fairseq.search.batches import longest_first
from sit_fairseq.search.beam_search import BeamSearch
from sit_fairseq.search.hypotheses import SearchOptions

# Tokens of the longest action.
_LONGEST = 6

# The most tokens of a batch, each counted once for each stream: they take about 300 MB.
_TOKENS = 200_000


@dataclass(frozen=True)
class PlanSearch:
    """The options of a search for plans.

    Attributes:
        width: the number of states that are followed at once; the best by the model's score.
        budget: the most states of a problem that the model is asked about.
    """

    width: int = 1
    budget: int = 1000

    def __post_init__(self) -> None:
        for name in ("width", "budget"):
            if not isinstance(getattr(self, name), int) or getattr(self, name) < 1:
                raise UserError(f"{name} is a whole number from 1", name)


@dataclass(frozen=True)
class Solution:
    """What came of a problem.

    Attributes:
        plan: its actions, which were executed and reach the goal; None if none was found.
        calls: the number of states that the model was asked about.
        first: the action that the model would take first; None if it has none.
    """

    plan: Optional[List[Action]]
    calls: int
    first: Optional[Action]


@dataclass(eq=False)
class _Node:
    """A state, how it was reached, and the sum of the log-probabilities of the actions."""

    state: State
    score: float = 0.0
    action: Optional[Action] = None
    parent: Optional["_Node"] = None

    def plan(self) -> List[Action]:
        """The actions up to here."""
        node, actions = self, []
        while node.parent is not None:
            actions.append(node.action)
            node = node.parent
        return actions[::-1]


class _Task:
    """The search for the plan of one problem."""

    def __init__(
        self,
        domain: PlanningDomain,
        problem: Problem,
        options: PlanSearch,
        known: Optional[Container[str]],
    ) -> None:
        self.domain, self.problem, self._options = domain, problem, options
        self._names = naming(domain, problem)
        self._real = {new: old for old, new in self._names.items()}
        goal = (atom for atom in problem.goal if known is None or wanted(atom[0]) in known)
        self._told = renamed(frozenset(goal), self._names)
        first = _Node(problem.initial)
        self._seen: Set[State] = {first.state}
        self.front, self._later = [first], []
        self.calls, self.first = 0, None
        self.goal: Optional[_Node] = first if problem.goal <= first.state else None

    def open(self) -> bool:
        """Whether there is a state to ask about."""
        return self.goal is None and bool(self.front) and self.calls < self._options.budget

    def sentences(self) -> List[str]:
        """The states to ask about."""
        states = (renamed(node.state, self._names) for node in self.front)
        return [" ".join(sentence(self.domain, one, self._told, Random(0))) for one in states]

    def follow(self, answers: Sequence[List[Tuple[str, float]]]) -> None:
        """Goes on by the actions that the model gave in each state, with their scores."""
        self.calls += len(self.front)
        found = []
        for node, alternatives in zip(self.front, answers):
            for text, score in alternatives:
                name, *objects = text.split()
                action = (name, *(self._real[one] for one in objects))
                if obstacle(self.domain, node.state, self.problem.sorts, action):
                    continue  # what a file asks for beyond the known domain
                if self.first is None:
                    self.first = action
                state = apply(self.domain, node.state, action)
                if state not in self._seen:
                    self._seen.add(state)
                    found.append(_Node(state, node.score + score, action, node))
        ends = [node for node in found if self.problem.goal <= node.state]
        if ends:
            self.goal = max(ends, key=lambda node: node.score)
            return
        found.sort(key=lambda node: node.score)
        self._later += found[: -self._options.width]
        self.front = found[-self._options.width :]
        while self._later and not self.front:
            self.front.append(self._later.pop())

    def solution(self) -> Solution:
        """What was found."""
        if self.goal is None:
            return Solution(None, self.calls, self.first)
        plan = self.goal.plan()
        failure = execute(self.domain, self.problem, plan)
        return Solution(plan if failure is None else None, self.calls, self.first)


# Gives actions for each of some sentences, best first, with their log-probabilities.
Ask = Callable[[List[str]], List[List[Tuple[str, float]]]]


class ModelActions:
    """Asks a model, :class:`~sit_fairseq.model.Model`, for actions, of which each is applicable.

    Args:
        model: of this domain.
        actions: the most actions for a sentence.
        batch_size: the most sentences at once.
    """

    def __init__(self, model: Any, actions: int = 5, batch_size: int = 64) -> None:
        self._tokens, self._batch_size = model.core.vocabulary.dictionary, batch_size
        options = SearchOptions(beam=actions, nbest=actions, max_len_b=_LONGEST, normalize=False)
        self._search = BeamSearch([model.core], options, grammar=ActionGrammar())

    def __call__(self, sentences: List[str]) -> List[List[Tuple[str, float]]]:
        found: Dict[int, List[Tuple[str, float]]] = {}
        words = map(str.split, sentences)
        sizes = {place: (len(some), len(set(some))) for place, some in enumerate(words)}
        for places in longest_first(sizes, self._batch_size, _TOKENS):
            with self._tokens.names_of_one_call():
                sources = self._tokens.encode([sentences[place] for place in places])
                for place, hypotheses in zip(places, self._search(sources)):
                    found[place] = [
                        (self._tokens.decode(h.tokens), float(h.score)) for h in hypotheses
                    ]
        return [found[place] for place in range(len(sentences))]


def random_actions(sentences: List[str]) -> List[List[Tuple[str, float]]]:
    """All applicable actions in random order, in the place of a model: what the search does alone."""
    found = []
    for text in sentences:
        domain, problem = read_sentence(text.split())
        actions = sorted(applicable(domain, problem.initial, problem.sorts))
        Random(text).shuffle(actions)
        found.append([(" ".join(action), -log(len(actions))) for action in actions])
    return found


def solve(
    ask: Ask,
    problems: Sequence[Tuple[PlanningDomain, Problem]],
    options: PlanSearch = PlanSearch(),
    known: Optional[Container[str]] = None,
) -> Iterator[Tuple[int, Solution]]:
    """Yields what came of each problem with its place, as soon as it is known.

    Every plan that is returned was executed from the first state of its problem, and reaches the
    goal.

    Args:
        ask: gives actions, see :class:`ModelActions`.
        problems: of known domains, each with the domain, which may ask for more to be applicable.
        options: of the search.
        known: the words of the model, which is not told of parts of the goal that it has none for;
            None if it has all.
    """
    tasks = {place: _Task(*problem, options, known) for place, problem in enumerate(problems)}
    while tasks:
        for place in [place for place, task in tasks.items() if not task.open()]:
            yield place, tasks.pop(place).solution()
        texts = [task.sentences() for task in tasks.values()]
        answers = iter(ask([text for some in texts for text in some]))
        for task, some in zip(tasks.values(), texts):
            task.follow([next(answers) for _ in some])
