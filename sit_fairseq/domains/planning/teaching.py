"""Training data of any domain in PDDL, for ``sit train planning``."""

import os
import time
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from random import Random
from typing import Dict, Generator, Iterator, List, Optional, Sequence, Set, Tuple

from sit_fairseq.datasets.options import at_least, option
from sit_fairseq.datasets.pair_files import write_pairs
from sit_fairseq.domains.planning import learnt
from sit_fairseq.domains.planning.applicable import applicable
from sit_fairseq.domains.planning.kinds import Kind, by_kind, kinds_of
from sit_fairseq.domains.planning.labelling import (
    Planner,
    exchanged,
    installed,
    nearest,
    read_plan,
    shortened,
)
from sit_fairseq.domains.planning.matching import Match, match
from sit_fairseq.domains.planning.pddl_files import (
    PddlProblem,
    read_domain,
    read_problem,
    read_text,
)
from sit_fairseq.domains.planning.proofs import visited
from sit_fairseq.domains.planning.sentences import Writer, is_order, steps
from sit_fairseq.domains.planning.strips import (
    Action,
    PlanningDomain,
    Problem,
    State,
    apply,
    execute,
)
from sit_fairseq.errors import UserError

# Of a problem all of whose states are known, in each of its turns: goals, and the samples of each, 40 or
# a hundredth of the states. How often each state on the way of a plan is a sample.
_GOALS, _STATES, _HUNDREDTH, _TIMES = 6, 40, 100, 3

# Pairs of a domain that are enough, more turns of such a problem, and the share of validation.
_ENOUGH, _TURNS, _SHARE = 30_000, 6, 0.05

# The most words of a sentence, with its end, and of a batch, each counted once for each stream.
_LONGEST, _BATCH = 8192, 20_000

_Labelled = List[Tuple[State, Action]]


@dataclass
class PlanTeacher:
    """Trains a model to take the next action in problems of your domains.

        sit train planning ferry/domain.pddl ferry/problems --out my/ferry
        sit train planning a.pddl a/ b.pddl b/ --out my/both
        sit answer planning ferry/domain.pddl p.pddl --path my/ferry

    Each domain stands before a folder with problems of it, any number of them. Labels of a problem are
    its plan in ``--plans``. Without one, they are shortest ways if it has few states; else plans of the
    planner that is installed, up-fast-downward or pyperplan. Goals with objects exchanged, and
    first states after random actions, make more of each problem.

    A problem that cannot be read or labelled is listed with the reason, and left out. The same command
    goes on after an interruption.
    """

    plans: Optional[str] = option(
        None, "has plans: PROBLEM.plan for PROBLEM.pddl, an action a line", metavar="DIR"
    )
    most_objects: int = option(
        50, "leave out problems with more objects", type=at_least(1), metavar="N"
    )
    seed: int = option(1, "the same seed draws the same states and first weights", type=int)
    layers: int = option(
        6,
        "encoder layers: more see longer ways, as by roads; fewer make more updates in the time",
        type=at_least(1),
        metavar="N",
    )

    metavar = "DOMAIN.pddl PROBLEMS"

    @property
    def training(self) -> Sequence[str]:
        """Options of fairseq-train: the model and all of its training but its length."""
        return (
            *("--arch", "symbol_invariant_transformer", "--stream-places", "own"),
            *("--encoder-embed-dim", "64", "--encoder-ffn-embed-dim", "256"),
            *("--encoder-layers", str(self.layers), "--decoder-layers", "2"),
            *("--encoder-attention-heads", "4", "--encoder-positions", "rope"),
            *("--decoder-positions", "sinusoidal", "--position-gaps", "400", "--dropout", "0"),
            *("--max-source-positions", str(_LONGEST)),
            *("--criterion", "adacos", "--min-scale", "10"),
            *("--optimizer", "muon", "--lr", "0.003", "--clip-norm", "1"),
            *("--batch-size", "48", "--max-tokens", str(_BATCH), "--num-workers", "0"),
            *("--seed", str(self.seed % 2**32)),  # NumPy has no others
            "--skip-invalid-size-inputs-valid-test",
        )

    def files(self, given: Sequence[str]) -> List[Path]:
        """The files that :meth:`teach` reads."""
        found = [path for folder in given[1::2] for path in _problems(folder)]
        found += Path(self.plans).glob("*.plan") if self.plans is not None else ()
        able = (path for path in found if path.is_file() and os.access(path, os.R_OK))
        return [*map(Path, given[::2]), *sorted(able)]

    def teach(self, given: Sequence[str], folder: str, seconds: float) -> Iterator[str]:
        """Writes ``train`` and ``valid`` pairs and the domains into a folder.

        Args:
            given: files with domains, each before a folder with problems.
            folder: to write.
            seconds: the most that labels take.

        Yields:
            What to tell of each problem that is left out, and of each domain.

        Raises:
            UserError: a domain cannot be read, or no problem of it can be used.
        """
        if not given or len(given) % 2:
            raise UserError("name files with domains, each before a folder with problems of it")
        if self.plans is not None and not Path(self.plans).is_dir():
            raise UserError(f"there is no folder {self.plans}", "plans")
        end = time.monotonic() + seconds
        lessons = [_Lesson(self, *pair) for pair in zip(given[::2], given[1::2])]
        files: Set[str] = set()
        for lesson in lessons:
            yield from lesson.read()
            title = lesson.learnt.read.domain.name
            file = learnt.file_of(title).lower()
            if file in files:
                raise UserError(f"two domains are called {title}, or nearly so; name one otherwise")
            files.add(file)
        every: List[List[Tuple[str, str]]] = []
        for number, lesson in enumerate(lessons):  # what one leaves of its time, the others get
            left = (end - time.monotonic()) / (len(lessons) - number)
            yield from lesson.label(max(left, seconds / len(lessons)))
            every += lesson.groups
        rng = Random(self.seed)
        rng.shuffle(every)
        held = max(1, round(_SHARE * len(every)))
        if len(every) < 2:
            raise UserError("the problems give too few states; add problems")
        for name, groups in (("valid", every[:held]), ("train", every[held:])):
            found = [pair for group in groups for pair in group]
            rng.shuffle(found)
            write_pairs(str(Path(folder, name)), found[:500] if name == "valid" else found)
        learnt.write(folder, [lesson.learnt for lesson in lessons])


def _problems(folder: str) -> Iterator[Path]:
    """The problems of a folder, without the domains that a training has written below it."""
    every = Path(folder).rglob("*.pddl")
    return (path for path in every if not path.with_name(learnt.WORDS).is_file())


@dataclass
class _Lesson:
    """The data of one domain."""

    options: PlanTeacher
    path: str
    folder: str
    groups: List[List[Tuple[str, str]]] = field(default_factory=list)

    def read(self) -> Iterator[str]:
        """Reads the problems, the small ones first."""
        text = read_text(self.path)
        domain = read_domain(text, self.path)
        if not Path(self.folder).is_dir():
            raise UserError(f"there is no folder {self.folder}")
        self._problems: Dict[str, PddlProblem] = {}
        kinds: Set[Kind] = set()
        most, larger = self.options.most_objects, 0
        paths = sorted(map(str, _problems(self.folder)))
        if not paths:
            raise UserError(f"{self.folder} has no file whose name ends in .pddl")
        for path in paths:
            try:
                if Path(path).exists() and Path(path).samefile(self.path):
                    continue
                problem = read_problem(read_text(path), path, domain)
            except UserError as error:
                yield f"; {path}: left out: {error}"
                continue
            count = len(problem.problem.sorts)
            if not count:
                yield f"; {path}: left out: it has no objects"
                continue
            if count > most:
                larger += 1
                continue
            self._problems[path] = problem
            kinds |= set(kinds_of(problem).values())
        if larger:
            yield f"; {self.folder}: {larger} left out: more than {most} objects, see --most-objects"
        if not self._problems:
            raise UserError(f"{self.folder} has no problem of {self.path} that can be used")
        self.learnt = learnt.learn(text, self.path, kinds, self._ordered())
        if domain.costs:
            yield f"; {self.path}: action costs are ignored"

    def _ordered(self) -> List[str]:
        """The static predicates that are strict orders in all problems."""
        orders: Dict[str, bool] = {}
        closed: Set[str] = set()
        for read in self._problems.values():
            domain, problem = by_kind(read)
            pairs: Dict[str, Set[Tuple[str, str]]] = {}
            for atom in problem.initial:
                if len(atom) == 3 and atom[0] in domain.static:
                    pairs.setdefault(atom[0], set()).add(atom[1:])
            for name, some in pairs.items():
                orders[name] = orders.get(name, True) and is_order(some)
                if orders[name] and len(steps(some)) < len(some):
                    closed.add(name)
        return sorted(name for name in closed if orders[name])

    def label(self, seconds: float) -> Iterator[str]:
        """Labels the problems in turn, by all states or a plan each, until pairs are enough or time is
        over."""
        end, planner, rng = time.monotonic() + seconds, installed(), Random(self.options.seed)
        matched = {}
        for path, read in self._problems.items():
            found = match(read, path, [self.learnt])
            words = len(self._writer(found, found.problem).sentence(found.problem.initial))
            most = _most(len(found.problem.sorts))
            if words <= most:
                matched[path] = found
            else:
                reason = f"its state takes {words:,} words, and {most:,} can be learnt at most"
                yield f"; {path}: left out: {reason}"
        plans = yield from self._plans(matched)
        left = sorted(matched, key=lambda path: len(matched[path].problem.sorts))
        counts, used, small, late = {"states": 0, "plans": 0}, set(), [], 0
        for turn, path in _turns(left, small):
            given = plans.get(path)
            enough = sum(map(len, self.groups)) > _ENOUGH or time.monotonic() > end
            if enough and given is None:
                if turn:
                    break
                late += 1
                continue
            kind = reason = ""
            if given is not None:
                self._follow(matched[path], matched[path].problem, given)
                kind = "plans"
            elif turn == 0 or path in small:
                kind, reason = self._by_states(matched[path], rng)
            if not kind and not reason:
                kind, reason = self._by_planner(matched[path], turn, planner, rng)
            if reason:
                left.remove(path)
                yield f"; {path}: left out: {reason}"
            elif kind and path not in small:
                counts[kind] += 1
                used.add(path)
                if kind == "states":
                    small.append(path)
                if kind == "states" or given is not None:
                    left.remove(path)
        if late:
            yield f"; {self.folder}: {late} larger problems are not needed, or time was over"
        if not self.groups:
            raise UserError(f"no problem of {self.folder} could be labelled; see the lines above")
        total = sum(map(len, self.groups))
        yield (
            f"{self.learnt.read.domain.name}: {total:,} pairs of {len(used)} problems "
            f"({counts['states']} by all states, {counts['plans']} plans)"
        )

    def _by_states(self, found: Match, rng: Random) -> Tuple[str, str]:
        """Labels a problem of few states. Returns "states", or "" if it has too many; and the reason to
        leave the problem out, or ""."""
        graph = visited(found.domain, found.problem)
        if not graph.whole:
            return "", ""
        most, asked = max(_STATES, len(graph.states) // _HUNDREDTH), found.problem
        for number in range(_GOALS):
            labelled = list(nearest(graph, asked, rng, most))
            if number == 0 and not labelled and not asked.reached(asked.initial):
                return "", "no plan exists"
            self._add(found, asked, labelled, 1)
            asked = exchanged(asked, frozenset(found.domain.constants), rng)
        return "states", ""

    def _plans(self, matched: Dict[str, Match]) -> Generator[str, None, Dict[str, List[Action]]]:
        """Yields what to tell of ``--plans``; returns the plans of problems by their files."""
        plans, folder = {}, self.options.plans
        for path, found in matched.items():
            file = Path(folder or "", f"{Path(path).stem}.plan")
            if folder is None or not file.is_file():
                continue
            plan = read_plan(
                read_text(str(file)),
                {name.lower(): name for name in found.domain.operators},
                {name.lower(): name for name in found.problem.sorts},
            )
            if plan is None or execute(found.domain, found.problem, plan) is not None:
                yield f"; {file} is no plan of {path}"
            else:
                plans[path] = plan
        if folder is not None and not plans:
            yield f"; {folder} has no plan of a problem in {self.folder}"
        return plans

    def _by_planner(
        self, found: Match, turn: int, planner: Optional[Planner], rng: Random
    ) -> Tuple[str, str]:
        """Labels the states on the way of a planner's plan. Returns "plans", or "" without a plan; and
        the reason to leave the problem out, or ""."""
        domain, problem = found.domain, found.problem
        if turn:
            state = problem.initial
            for _ in range(rng.randint(0, 12)):
                ways = sorted(applicable(domain, state, problem.sorts))
                state = apply(domain, state, rng.choice(ways)) if ways else state
            fixed = frozenset(domain.constants)
            problem = replace(exchanged(problem, fixed, rng), initial=state)
        if planner is None:
            return "", "it has too many states: install up-fast-downward, or name --plans"
        if not planner.reads_not and (problem.without or _asks_not(domain)):
            return "", f"{planner.name} reads no (not ...) of it: install up-fast-downward"
        plan = planner.plan(domain, problem, 10.0)
        if plan is None:  # a variant may have none
            return "", "" if turn else f"{planner.name} finds no plan in 10 seconds"
        if execute(domain, problem, plan) is not None:
            return "", "" if turn else f"the plan of {planner.name} does not reach its goal"
        self._follow(found, problem, plan)
        return "plans", ""

    def _follow(self, found: Match, problem: Problem, plan: List[Action]) -> None:
        """Labels the states on the way of a plan."""
        domain, labelled, state = found.domain, [], problem.initial
        for action in shortened(domain, problem, plan) if len(plan) <= 300 else plan:
            labelled.append((state, action))
            state = apply(domain, state, action)
        self._add(found, problem, labelled, _TIMES)

    def _add(self, found: Match, asked: Problem, labelled: _Labelled, times: int) -> None:
        rng = Random(self.options.seed + len(self.groups))
        writer = self._writer(found, asked)
        most = _most(len(asked.sorts))
        group = [
            (" ".join(words), " ".join(writer.written(action)))
            for state, action in labelled
            for _ in range(times)
            if len(words := writer.sentence(state, rng)) <= most
        ]
        self.groups += [group] if group else []

    def _writer(self, found: Match, asked: Problem) -> Writer:
        return Writer(self.learnt, found.domain, asked, numbered=False)


def _turns(left: List[str], small: List[str]) -> Iterator[Tuple[int, str]]:
    """Turns and problems, as the lists are when a turn begins: small ones in some turns, those left for
    ever."""
    for turn in count():
        paths = [*left, *small] if turn <= _TURNS else [*left]
        if not paths:
            return
        yield from ((turn, path) for path in paths)


def _most(objects: int) -> int:
    """The most words, without the end, of a sentence with so many objects that can be learnt."""
    return min(_LONGEST, _BATCH // max(1, objects)) - 1


def _asks_not(domain: PlanningDomain) -> bool:
    """Whether an action asks that something does not hold."""
    return any(operator.without for operator in domain.operators.values())
