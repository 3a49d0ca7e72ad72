"""Grammars accept what judges can read, and know how an answer can end."""

import random
from collections import deque

import pytest

from sit_fairseq.domains import find
from sit_fairseq.domains.ltl.traces import parse_trace
from sit_fairseq.domains.prop.propositional import parse_assignment
from sit_fairseq.errors import MalformedAnswer

BASE = {
    "prop": ["0", "1", "!", "&", "xor"],
    "ltl": ["0", "1", "!", "&", "|", "<->", "U", "G", ";", "{", "}"],
}
SYMBOLS = range(3)


def readable(semantics, tokens):
    """Whether a judge reads an answer; a symbol has one value."""
    words = [token if isinstance(token, str) else f"s{token}" for token in tokens]
    try:
        if semantics == "ltl":
            parse_trace(words)
            return True
        pairs = parse_assignment(words)
        return len({name for name, _ in pairs}) == len(pairs)
    except MalformedAnswer:
        return False


def accepts(grammar, tokens):
    state = grammar.start()
    for token in tokens:
        state = None if state is None else grammar.next(state, token)
    return state is not None and grammar.shortest(state) == 0


@pytest.mark.parametrize("semantics", ["prop", "ltl"])
def test_it_accepts_what_a_judge_can_read(semantics):
    rng = random.Random(1)
    grammar, alphabet = find(semantics).grammar(), [*BASE[semantics], *SYMBOLS]
    found = {True: 0, False: 0}
    for _ in range(3000):
        tokens, state = [], grammar.start()
        for number in range(rng.randrange(16)):
            allowed = [token for token in alphabet if grammar.next(state, token) is not None]
            if number > 5:  # towards the end
                allowed.sort(key=lambda token: grammar.shortest(grammar.next(state, token)))
                allowed = allowed[:3]
            if not allowed:
                break
            tokens.append(rng.choice(allowed))
            state = grammar.next(state, tokens[-1])
        if rng.random() < 0.4 and tokens:
            tokens[rng.randrange(len(tokens))] = rng.choice(alphabet)
        assert accepts(grammar, tokens) == readable(semantics, tokens), tokens
        found[accepts(grammar, tokens)] += 1
    assert min(found.values()) > 300


@pytest.mark.parametrize("semantics", ["prop", "ltl"])
def test_the_shortest_end_is_the_shortest(semantics):
    """By breadth-first search from all states within four tokens of the start."""
    grammar, alphabet = find(semantics).grammar(), [*BASE[semantics], *SYMBOLS]

    def successors(state):
        return {grammar.next(state, token) for token in alphabet} - {None}

    def to_end(state):
        seen, queue = {state}, deque([(state, 0)])
        while queue:
            state, steps = queue.popleft()
            if grammar.shortest(state) == 0:
                return steps
            for after in successors(state) - seen:
                seen.add(after)
                queue.append((after, steps + 1))

    states = {grammar.start()}
    for _ in range(4):
        states |= {after for state in states for after in successors(state)}
    assert len(states) > 10
    assert all(grammar.shortest(state) == to_end(state) for state in states)
