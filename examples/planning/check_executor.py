"""Compares the executor of plans with the validator of `unified-planning`, on right and damaged plans.

    pip install unified-planning==1.3.0
    python check_executor.py FOLDER ... --plans 2000

Each folder has problems in PDDL and, beside or above them, their domain. Problems are drawn from all
folders alike. Each gets a right plan by the rules of the domain, and damaged copies of it: without an
action, with one twice, with two exchanged, with other objects, with another action, or cut off. Both
read the same files. A line for each domain counts the plans by both verdicts.
"""

import argparse
import random
import warnings
from collections import Counter
from typing import List

from sit_fairseq.domains.planning.folders import domain_file, problems_in
from sit_fairseq.domains.planning.kinds import by_kind
from sit_fairseq.domains.planning.pddl_files import read_domain, read_problem, read_text
from sit_fairseq.domains.planning.policies import good_actions
from sit_fairseq.domains.planning.strips import Action, Problem, apply, execute

_COPIES = 10  # damaged copies of each right plan


def right_plan(match, rng: random.Random) -> List[Action]:
    """A plan by the rules, in the names of the file."""
    domain, state, plan = match.domain, match.problem.initial, []
    while not match.problem.goal <= state and len(plan) < 500:
        problem = Problem(match.problem.sorts, state, match.problem.goal)
        plan.append(rng.choice(good_actions(domain, problem)))
        state = apply(domain, state, plan[-1])
    return [match.in_file(action) for action in plan]


def damaged(plan: List[Action], match, rng: random.Random) -> List[Action]:
    """A plan with one mistake, which may happen to be none."""
    plan, at = list(plan), rng.randrange(len(plan))
    objects, names = sorted(match.problem.sorts), sorted(match.operators)
    kind = rng.randrange(6)
    if kind == 0:
        del plan[at]
    elif kind == 1:
        plan.insert(at, plan[at])
    elif kind == 2:
        other = rng.randrange(len(plan))
        plan[at], plan[other] = plan[other], plan[at]
    elif kind == 3:
        action = list(plan[at])
        action[rng.randrange(1, max(2, len(action)))] = rng.choice(objects)
        plan[at] = tuple(action)
    elif kind == 4:
        name, places = match.operators[rng.choice(names)]
        plan[at] = (name, *rng.choices(objects, k=len(places)))
    else:
        del plan[at:]
    return plan


class Validator:
    """The validator of `unified-planning` on the problem of two files."""

    def __init__(self, domain: str, problem: str) -> None:
        from unified_planning.engines import SequentialPlanValidator
        from unified_planning.io import PDDLReader

        self._problem = PDDLReader().parse_problem(domain, problem)
        self._validator = SequentialPlanValidator()

    def right(self, plan: List[Action]) -> bool:
        """Whether it accepts a plan; one that it cannot make of the problem's actions is wrong."""
        from unified_planning.exceptions import UPException
        from unified_planning.plans import ActionInstance, SequentialPlan

        try:
            actions = [
                ActionInstance(
                    self._problem.action(name.lower()),
                    tuple(self._problem.object(one.lower()) for one in objects),
                )
                for name, *objects in plan
            ]
            return bool(self._validator.validate(self._problem, SequentialPlan(actions)))
        except (AssertionError, UPException):
            return False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", nargs="+", metavar="FOLDER")
    parser.add_argument("--plans", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    rng, counts = random.Random(args.seed), {}
    share = -(-args.plans // len(args.folders))
    for folder in args.folders:
        found = list(problems_in(folder))
        rng.shuffle(found)
        left = share
        for path, match in found:
            if left <= 0:
                break
            domain = str(domain_file(path))
            read = read_problem(
                read_text(str(path)), str(path), read_domain(read_text(domain), domain)
            )
            ours, theirs = by_kind(read), Validator(domain, str(path))
            plan = right_plan(match, rng)
            plans = [plan, *(damaged(plan, match, rng) for _ in range(_COPIES) if plan)]
            for one in plans[:left]:
                verdict = execute(*ours, one) is None, theirs.right(one)
                counts.setdefault(match.domain.name, Counter())[verdict] += 1
                if verdict[0] != verdict[1]:
                    print("differ on", path, one, execute(*ours, one), flush=True)
            left -= len(plans)
    print("domain        plans  right for both  wrong for both  right for ours alone  for theirs")
    for name, one in counts.items():
        row = one[True, True], one[False, False], one[True, False], one[False, True]
        print(f"{name:12} {sum(row):6} {row[0]:15} {row[1]:15} {row[2]:21} {row[3]:11}")


if __name__ == "__main__":
    main()
