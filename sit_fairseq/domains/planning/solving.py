"""Plans, step by step: the model is asked for the next action, it is executed, and so on.

A state that was seen before is not entered again, so that the search never goes in circles. Where
all actions lead to such states, it goes back to the last state with another way on.
"""

from dataclasses import dataclass
from math import log
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Set, Tuple

from sit_fairseq.domains.planning.applicable import applicable
from sit_fairseq.domains.planning.grammar import ActionGrammar
from sit_fairseq.domains.planning.sentences import Writer
from sit_fairseq.domains.planning.strips import Action, State, apply, execute
from sit_fairseq.errors import check_numbers
from sit_fairseq.search.batches import longest_first
from sit_fairseq.search.beam_search import BeamSearch
from sit_fairseq.search.hypotheses import SearchOptions

# The most tokens of a batch, each counted once for each stream: they take about 300 MB.
_TOKENS = 200_000

# The least width of the beam: a narrower one loses the likeliest action, where its first word has less
# probability than one that many actions share.
_BEAM = 5


@dataclass(frozen=True)
class PlanSearch:
    """The options of a search for plans.

    Attributes:
        width: the number of states that are followed at once; the best by the model's score.
        budget: the most states of a problem that the model is asked about.
        onward: whether it chooses among actions that lead to new states alone.
    """

    width: int = 1
    budget: int = 1000
    onward: bool = True

    def __post_init__(self) -> None:
        check_numbers(1, width=self.width, budget=self.budget)


@dataclass(frozen=True)
class Solution:
    """The outcome for a problem.

    Attributes:
        plan: its actions, which were executed and reach the goal; None if none was found.
        calls: the number of states that the model was asked about.
    """

    plan: Optional[List[Action]]
    calls: int


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

    def __init__(self, writer: Writer, options: PlanSearch) -> None:
        self._writer, self._options = writer, options
        self.domain, self.problem = writer.domain, writer.problem
        first = _Node(self.problem.initial)
        self._seen: Set[State] = {first.state}
        self.front, self._later = [first], []
        self.calls = 0
        self.goal: Optional[_Node] = first if self.problem.reached(first.state) else None

    def open(self) -> bool:
        """Whether there is a state to ask about."""
        return self.goal is None and bool(self.front) and self.calls < self._options.budget

    def questions(self) -> List["Question"]:
        """The states to ask about, each with its actions, of which one stands for all that are alike."""
        found = []
        for node in self.front:
            sentence, actions = self._writer.sentence(node.state), []
            there = set(sentence)
            known = self._seen if self._options.onward else {node.state}
            every = applicable(self.domain, node.state, self.problem.sorts)
            for action in sorted(every, key=self._writer.written):
                if there.issuperset(self._writer.written(action)[1:]):
                    after = apply(self.domain, node.state, action)
                    actions += [action] if after not in known else []
            choices = self._writer.choices(node.state, actions)
            found.append((sentence, [(self._writer.written(one), n) for one, n in choices.items()]))
        return found

    def follow(self, answers: Sequence[List[Tuple[List[str], float]]]) -> None:
        """Goes on by the actions that the model gave in each state, with their scores."""
        self.calls += len(self.front)
        found = []
        for node, alternatives in zip(self.front, answers):
            for words, score in alternatives:
                action = self._writer.action(words)
                state = apply(self.domain, node.state, action)
                if state not in self._seen:
                    self._seen.add(state)
                    found.append(_Node(state, node.score + score, action, node))
        ends = [node for node in found if self.problem.reached(node.state)]
        if ends:
            self.goal = max(ends, key=lambda node: node.score)
            return
        found.sort(key=lambda node: node.score)
        self._later += found[: -self._options.width]
        self.front = found[-self._options.width :]
        if self._later and not self.front:
            self.front = [self._later.pop()]

    def solution(self) -> Solution:
        """The outcome so far."""
        if self.goal is None:
            return Solution(None, self.calls)
        plan = self.goal.plan()
        failure = execute(self.domain, self.problem, plan)
        return Solution(plan if failure is None else None, self.calls)


# The words of a state, and of actions that can be taken there, each with the number of those alike.
Question = Tuple[List[str], List[Tuple[List[str], int]]]

# Gives actions for each of some questions, best first, with the log-probability of all those alike.
Ask = Callable[[List[Question]], List[List[Tuple[List[str], float]]]]


class ModelActions:
    """Asks a model, :class:`~sit_fairseq.model.Model`, for actions, of which each is applicable.

    Args:
        model: of this domain.
        actions: the most actions for a sentence.
        batch_size: the most sentences at once.
    """

    def __init__(self, model: Any, actions: int = 5, batch_size: int = 64) -> None:
        self._tokens, self._batch_size = model.core.vocabulary.dictionary, batch_size
        self._actions, self._beam = actions, max(actions, _BEAM)
        self._models, self._grammar = [model.core], ActionGrammar(model.symbols)
        self._words = frozenset(model.base_tokens)

    def __call__(self, questions: List[Question]) -> List[List[Tuple[List[str], float]]]:
        found: Dict[int, List[Tuple[List[str], float]]] = {}
        numbers = [{tuple(a): n for a, n in some if a[0] in self._words} for _, some in questions]
        known = [list(map(list, some)) for some in numbers]
        sizes = {
            place: (len(some), len(set(some)))
            for place, (some, _) in enumerate(questions)
            if known[place]
        }
        for batch in longest_first(sizes, self._batch_size, _TOKENS):
            for taken in self._grammar.told((questions[at][0], known[at]) for at in batch):
                places = [batch[at] for at in taken]
                sentences = [" ".join(questions[place][0]) for place in places]
                beam = min(self._beam, max(len(known[place]) for place in places))
                longest = max(len(action) for place in places for action in known[place])
                options = SearchOptions(beam, beam, normalize=False, max_len_b=longest)
                search = BeamSearch(self._models, options, grammar=self._grammar)
                with self._tokens.names_of_one_call():
                    for place, some in zip(places, search(self._tokens.encode(sentences))):
                        found[place] = self._best(some, numbers[place])
        return [found.get(place, []) for place in range(len(questions))]

    def _best(
        self, hypotheses: List[Any], numbers: Dict[Tuple[str, ...], int]
    ) -> List[Tuple[List[str], float]]:
        """The actions of a question, with the log-probability of all those alike."""
        scores = {}
        for one in hypotheses:
            words = tuple(self._tokens.decode(one.tokens).split())
            scores[words] = float(one.score) + log(numbers[words])
        best = sorted(scores, key=scores.get, reverse=True)
        return [(list(words), scores[words]) for words in best[: self._actions]]


def solve(
    ask: Ask, writers: Sequence[Writer], options: PlanSearch = PlanSearch()
) -> Iterator[Tuple[int, Solution]]:
    """Yields what came of each problem with its place, as soon as it is known.

    Every plan that is returned was executed from the first state of its problem, and reaches the
    goal.

    Args:
        ask: gives actions, see :class:`ModelActions`.
        writers: of problems.
        options: of the search.
    """
    tasks = {place: _Task(writer, options) for place, writer in enumerate(writers)}
    while tasks:
        for place in [place for place, task in tasks.items() if not task.open()]:
            yield place, tasks.pop(place).solution()
        asked = [task.questions() for task in tasks.values()]
        answers = iter(ask([one for some in asked for one in some]))
        for task, some in zip(tasks.values(), asked):
            task.follow([next(answers) for _ in some])
