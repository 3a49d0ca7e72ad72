"""Depth-first labels against a plain search with backtracking."""

from random import Random

from sit_fairseq.domains.formulas.syntax import formula_symbols, parse
from sit_fairseq.domains.prop.depth_first import depth_first_answer, depth_first_assignment
from sit_fairseq.domains.prop.propositional import random_formula, truth_table
from sit_fairseq.symbols.renaming import random_renamings


def ways(operator, value):
    """Ways to give an operator a value: lists of (index of an operand, its value)."""
    if operator == "->":
        return [[(0, False)], [(1, True)]] if value else [[(0, True), (1, False)]]
    if operator in ("&", "|"):
        if value == (operator == "&"):
            return [[(0, value), (1, value)]]
        return [[(0, value)], [(1, value)]]
    different = value == (operator == "xor")
    return [[(0, first), (1, first != different)] for first in (True, False)]


def searches(goals, values):
    """Yields all assignments that meet goals (tree, value), by plain backtracking."""
    if not goals:
        yield values
        return
    (tree, value), *others = goals
    if tree in ("0", "1"):
        if (tree == "1") == value:
            yield from searches(others, values)
    elif isinstance(tree, str):
        if values.get(tree, value) == value:
            yield from searches(others, {**values, tree: value})
    elif tree[0] == "!":
        yield from searches([(tree[1], not value), *others], values)
    else:
        for way in ways(tree[0], value):
            demands = [(tree[1 + index], demand) for index, demand in way]
            yield from searches([*demands, *others], values)


def formulas(number, longest, symbols="abcd"):
    """Random formulas, some of them with implications."""
    rng = Random(0)
    for _ in range(number):
        tokens = random_formula(rng, rng.randint(1, longest), symbols)
        implied = rng.random() < 0.3
        yield ["->" if implied and token == rng.choice(["|", "xor"]) else token for token in tokens]


def test_it_is_what_backtracking_finds_first():
    unsatisfiable = empty = 0
    for tokens in formulas(3000, 17):
        found = next(searches([(parse(tokens), True)], {}), None)
        expected = None if found is None else [(name, int(value)) for name, value in found.items()]
        assert depth_first_assignment(tokens) == expected, " ".join(tokens)
        unsatisfiable += expected is None
        empty += expected == []
    assert unsatisfiable > 100 and empty > 50


def _conjuncts(literals):
    for symbol, value in literals:
        yield from (symbol,) if value else ("!", symbol)


def test_a_renamed_formula_gets_the_renamed_label():
    rng = Random(1)
    names = [f"p{index}" for index in range(20)]
    for tokens in formulas(1000, 35):
        answer = depth_first_answer(tokens)
        symbols = formula_symbols(tokens)
        (renaming,) = random_renamings(symbols, [*symbols, *names], 1, rng)
        if answer is not None:
            answer = renaming(answer)
        assert depth_first_answer(renaming.tokens(tokens)) == answer


def test_long_and_deep_formulas():
    # Plain backtracking would try 2^60 ways before it gives up that a is true.
    clauses = ["&", "|", "a", "b"] * 60
    assert depth_first_answer([*clauses, "!", "a"]) == "b 1 a 0"
    assert depth_first_answer(["!"] * 20001 + ["a"]) == "a 0"
    names = [f"p{index}" for index in range(20)]
    tokens = random_formula(Random(2), 2001, names)
    symbols = formula_symbols(tokens)
    literals = depth_first_assignment(tokens)
    assert len(symbols) == 20 and len(literals) > 1
    label = truth_table(["&"] * len(literals) + [*_conjuncts(literals), "1"], symbols)
    assert label and not label & ~truth_table(tokens, symbols)
