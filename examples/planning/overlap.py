"""Counts test problems that begin as some state of a training does, whatever the objects are called.

    python -m examples.planning.overlap my/model ipc2023/ferry/testing/easy ...

my/model is what ``sit train planning --out`` wrote. A state has its goal with it. Different ones are
taken for equal if :func:`examples.planning.five.problem_key` does not tell them apart.
"""

from pathlib import Path
from string import ascii_lowercase
from typing import Iterable, List, Sequence, Set

from examples.planning.five import problem_key
from examples.planning.folders import problems_in
from examples.script import run
from sit_fairseq.domains.planning import learnt
from sit_fairseq.domains.planning.learnt import Learnt
from sit_fairseq.domains.planning.matching import match
from sit_fairseq.domains.planning.pddl_files import read_problem
from sit_fairseq.domains.planning.sentences import Writer
from sit_fairseq.errors import UserError


def keys(sentences: Iterable[str], domains: Sequence[Learnt]) -> Set[int]:
    """The keys of some sentences of the domains."""
    both = {one.both_ways(name) for one in domains for name in one.domain.static}
    return {problem_key(sentence.split(), ascii_lowercase, both) for sentence in sentences}


def first_states(folder: str, domains: Sequence[Learnt]) -> List[str]:
    """The sentences of the first states of the problems below a folder; others are told and left out."""
    found = []
    for path, text, domain in problems_in(folder):
        try:
            one = match(read_problem(text, str(path), domain), str(path), domains)
        except UserError as error:
            print(error)
            continue
        writer = Writer(one.learnt, one.domain, one.problem)
        found.append(" ".join(writer.sentence(one.problem.initial)))
    return found


def main(model: str, folder: str, *folders: str) -> None:
    states = Path(model, "train.src")
    if not states.is_file():
        raise UserError(f"{model} has no train.src: name a folder of sit train planning")
    domains = learnt.read(model)
    asked = {one: first_states(one, domains) for one in (folder, *folders)}
    with open(states, encoding="utf-8") as lines:
        known = keys(lines, domains)
    for one, sentences in asked.items():
        count = sum(keys([sentence], domains) <= known for sentence in sentences)
        print(f"{one}: {count} of {len(sentences)} problems begin as a state of training")


if __name__ == "__main__":
    run(main)
