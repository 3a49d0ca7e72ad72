"""Depth-first labels; datasets/test_generation.py pins which they are."""

from random import Random

from sit_fairseq.domains.formulas.syntax import formula_symbols
from sit_fairseq.domains.prop.depth_first import depth_first_answer, depth_first_assignment
from sit_fairseq.domains.prop.propositional import random_formula, truth_table
from sit_fairseq.symbols.renaming import random_renamings


def formulas(number, longest, symbols="abcd"):
    """Random formulas, some of them with implications."""
    rng = Random(0)
    for _ in range(number):
        tokens = random_formula(rng, rng.randint(1, longest), symbols)
        implied = rng.random() < 0.3
        yield ["->" if implied and token == rng.choice(["|", "xor"]) else token for token in tokens]


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
