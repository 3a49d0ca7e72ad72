"""Sentences say what a problem is, and names have no part in them."""

from random import Random

import pytest
from domains.planning.problems import PROBLEMS

from sit_fairseq.domains.planning.applicable import applicable
from sit_fairseq.domains.planning.known import known_domains
from sit_fairseq.domains.planning.sampling import SAMPLERS
from sit_fairseq.domains.planning.sentences import (
    naming,
    problem_key,
    read_sentence,
    renamed,
    sentence,
    symbols,
)
from sit_fairseq.domains.planning.strips import Problem, apply
from sit_fairseq.errors import MalformedFormula
from sit_fairseq.symbols.pattern import SymbolPattern

DOMAINS = known_domains()


@pytest.mark.parametrize("name", DOMAINS)
def test_sentences_are_read_as_they_were_written(name):
    """In visitall all but places that were visited and wanted, and places visited otherwise."""
    domain, rng = DOMAINS[name], Random(1)
    draw, sizes = SAMPLERS[name]
    for _ in range(20):
        problem = draw(rng.choice(sizes), rng)
        state = problem.initial
        for _ in range(rng.randrange(8)):
            actions = sorted(applicable(domain, state, problem.sorts))
            state = apply(domain, state, rng.choice(actions))
        read_domain, read = read_sentence(sentence(domain, state, problem.goal, rng))
        assert read_domain is domain
        done = {atom for atom in state if atom[0] == "visited"}
        assert read.goal - done == problem.goal - done
        assert read.initial - done == state - done
        again = sentence(domain, read.initial, read.goal, Random(2))
        assert read_sentence(again)[1].goal - done == problem.goal - done


def test_objects_of_sentences_are_symbols_of_their_sorts():
    pattern = SymbolPattern(symbols())
    for name, problem in PROBLEMS.items():
        names = naming(DOMAINS[name], problem)
        state, goal = renamed(problem.initial, names), renamed(problem.goal, names)
        words = set(sentence(DOMAINS[name], state, goal, Random(1)))
        found = {word: pattern.sort(word) for word in words if pattern.sort(word) is not None}
        sorts = {names[one]: sort for one, sort in problem.sorts.items()}
        assert found and all(pattern.sorts[n] == sorts[word] for word, n in found.items())


@pytest.mark.parametrize("name", DOMAINS)
def test_the_key_and_the_sentence_of_a_renamed_problem_are_the_same(name):
    problem, rng = PROBLEMS[name], Random(3)
    others = [f"z{n}" for n in range(len(problem.sorts))]
    rng.shuffle(others)
    map_ = dict(zip(problem.sorts, others))
    other = Problem(
        {map_[one]: sort for one, sort in problem.sorts.items()},
        renamed(problem.initial, map_),
        renamed(problem.goal, map_),
    )
    keys, written = set(), set()
    for one in (problem, other):
        names = naming(DOMAINS[name], one)
        state, goal = renamed(one.initial, names), renamed(one.goal, names)
        keys.add(problem_key(DOMAINS[name], state, goal))
        written.add(tuple(sentence(DOMAINS[name], state, goal, Random(0))))
    assert len(keys) == len(written) == 1


@pytest.mark.parametrize("name", DOMAINS)
def test_the_order_of_objects_in_a_file_has_no_part_in_sentences(name):
    """In problems with objects that are alike, and with some that look so in their surroundings."""
    rng = Random(4)
    draw, sizes = SAMPLERS[name]
    problems = [PROBLEMS[name], *(draw(rng.choice(sizes), rng) for _ in range(20))]
    for problem in problems:
        written = set()
        for _ in range(4):
            objects = rng.sample(list(problem.sorts.items()), len(problem.sorts))
            names = naming(DOMAINS[name], Problem(dict(objects), problem.initial, problem.goal))
            state, goal = renamed(problem.initial, names), renamed(problem.goal, names)
            written.add(tuple(sentence(DOMAINS[name], state, goal, Random(0))))
        assert len(written) == 1


def test_keys_tell_different_problems_apart():
    rng, keys = Random(1), set()
    for size in (5, 6, 7):
        for _ in range(50):
            problem = SAMPLERS["blocksworld"][0](size, rng)
            keys.add(problem_key(DOMAINS["blocksworld"], problem.initial, problem.goal))
    assert len(keys) > 140


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "begins with one of blocksworld"),
        ("chess on block1 block2", "begins with one of"),
        ("blocksworld in block1 block2", "token 2, 'in', begins no atom of blocksworld"),
        ("blocksworld on block1", "token 2, 'on', begins no atom"),
        ("blocksworld on block1 table", "'table' after 'on' is no object"),
    ],
)
def test_what_is_no_sentence_is_said(text, message):
    with pytest.raises(MalformedFormula, match=message):
        read_sentence(text.split())
