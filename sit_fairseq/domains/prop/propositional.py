"""Propositional logic on truth tables held in Python integers.

The table of a function of k variables is an integer of 2^k bits: bit i is its value when the
variables are the binary digits of i. Variable 0 is the most significant digit, so the upper and the
lower half of the table are the function with it set to 1 and to 0. Variables are numbered by first
appearance, so nothing computed here depends on what a symbol is called.
"""

from functools import lru_cache
from random import Random
from typing import Dict, Iterable, List, Optional, Sequence, Tuple

from sit_fairseq.domains.formulas.syntax import (
    ARITY,
    CONSTANTS,
    OPERATORS,
    Tree,
    check_formula,
    fold,
    formula_symbols,
)
from sit_fairseq.errors import MalformedAnswer, MalformedFormula

# The operators that random formulas are made of: all but the implication.
RANDOM_OPERATORS = OPERATORS[:-1]

# Tables beyond 2^20 bits (128 KiB each) are not worth their time.
MAX_VARIABLES = 20

_IMPOSSIBLE = 1 << 30  # cost of a function that nothing satisfies


def parse_assignment(tokens: Sequence[str]) -> List[Tuple[str, str]]:
    """Reads a partial assignment, ``a 1 c 0``, as pairs, which may occur twice or contradict each
    other; a MalformedAnswer if the tokens are none."""
    names, values = tokens[::2], tokens[1::2]
    for name in names:
        if name in ARITY or name in CONSTANTS:
            raise MalformedAnswer(f"'{name}' stands where a symbol should")
    for name, value in zip(names, values):
        if value not in CONSTANTS:
            raise MalformedAnswer(f"the value of '{name}' is '{value}', neither 0 nor 1")
    if len(names) > len(values):
        raise MalformedAnswer(f"'{names[-1]}' has no value")
    return list(zip(names, values))


def assignment_text(literals: Iterable[Tuple[str, int]]) -> str:
    """``(symbol, value)`` pairs as in a data set: ``a 1 b 0``."""
    return " ".join(f"{symbol} {value}" for symbol, value in literals)


def same_literals(answer: str, target: str) -> bool:
    """Whether two assignments have the same set of literals, as ``a 1 b 0`` and ``b 0 a 1``.

    Answers with an odd number of tokens have no literals, and are compared token by token.
    """
    first, second = answer.split(), target.split()
    if len(first) % 2 or len(second) % 2:
        return first == second
    return set(zip(first[::2], first[1::2])) == set(zip(second[::2], second[1::2]))


def literals_text(tokens: Sequence[str]) -> str:
    """An assignment for people: ``a & !c``."""
    pairs = parse_assignment(tokens)
    return " & ".join(f"{'' if value == '1' else '!'}{name}" for name, value in pairs) or "anything"


def check_propositional(tokens: Sequence[str]) -> None:
    """Raises MalformedFormula unless tokens are one formula without temporal operators."""
    check_formula(tokens)
    for token in tokens:
        if token in ARITY and token not in OPERATORS:
            raise MalformedFormula(f"unknown operator '{token}' in a propositional formula")


def all_ones(k: int) -> int:
    """The table of the constant true over ``k`` variables."""
    return (1 << (1 << k)) - 1


@lru_cache(maxsize=24)
def _variable_tables(k: int) -> Tuple[int, ...]:
    """The tables of variables 0 to k-1 over k variables."""
    tables = []
    for digit in reversed(range(k)):
        table = ((1 << (1 << digit)) - 1) << (1 << digit)
        for higher in range(digit + 1, k):
            table |= table << (1 << higher)
        tables.append(table)
    return tuple(tables)


def subformula_tables(tokens: Sequence[str], symbols: Sequence[str]) -> List[int]:
    """The truth table of the subformula that begins at each token, ``2 ** len(symbols)`` bits.

    Symbol j is variable j. A MalformedFormula if the tokens are not one propositional formula.
    """
    check_propositional(tokens)
    ones = all_ones(len(symbols))
    leaves: Dict[str, int] = {"0": 0, "1": ones}
    leaves.update(zip(symbols, _variable_tables(len(symbols))))
    tables: List[int] = []
    stack: List[int] = []
    push, pop = stack.append, stack.pop
    for token in reversed(tokens):
        if token not in OPERATORS:
            push(leaves[token])
        elif token == "!":
            push(pop() ^ ones)
        elif token == "&":
            push(pop() & pop())
        elif token == "|":
            push(pop() | pop())
        elif token == "xor":
            push(pop() ^ pop())
        elif token == "<->":
            push(pop() ^ pop() ^ ones)
        else:  # "->"; the left operand is on top
            push((pop() ^ ones) | pop())
        tables.append(stack[-1])
    tables.reverse()
    return tables


def truth_table(tokens: Sequence[str], symbols: Sequence[str]) -> int:
    """The truth table of a formula, see :func:`subformula_tables`."""
    return subformula_tables(tokens, symbols)[0]


def without_constants(tokens: Sequence[str]) -> List[str]:
    """An equivalent formula that has no constants, or is one: ``! a`` for ``-> a & b 0``."""

    def combine(token: str, operands: List[Tree]) -> Tree:
        left = [operand for operand in operands if operand not in CONSTANTS]
        if len(left) == len(operands):
            return (token, *operands) if operands else token
        values = [operand if operand in CONSTANTS else "x" for operand in operands]
        table = truth_table([token, *values], ["x"])  # the lower bit for x = 0
        if table in (0, 3):
            return "01"[table & 1]
        return left[0] if table == 2 else ("!", left[0])

    found: List[str] = []
    stack = [fold(tokens, combine)]
    while stack:
        tree = stack.pop()
        found.append(tree if isinstance(tree, str) else tree[0])
        stack += () if isinstance(tree, str) else tree[:0:-1]
    return found


def is_contingent(tokens: Sequence[str]) -> bool:
    """Whether a propositional formula is satisfiable and no tautology."""
    symbols = formula_symbols(tokens)
    return 0 < truth_table(tokens, symbols) < all_ones(len(symbols))


def _cost(table: int, k: int, memo: Dict[Tuple[int, int], int]) -> int:
    """Number of literals in a smallest partial assignment that makes the table true."""
    if not table:
        return _IMPOSSIBLE
    key = (table, k)
    if key in memo:
        return memo[key]
    if table == all_ones(k):
        cost = 0
    else:
        half = 1 << (k - 1)
        upper, lower = table >> half, table & ((1 << half) - 1)
        cost = _cost(upper, k - 1, memo)
        if upper != lower:
            cost_lower = _cost(lower, k - 1, memo)
            # Leaving the variable out means satisfying both halves at once, which
            # takes at least as much as either; so it can only be the best choice
            # when both cost the same and their conjunction costs no more.
            if cost != cost_lower:
                cost = 1 + min(cost, cost_lower)
            elif _cost(upper & lower, k - 1, memo) != cost:
                cost += 1
    memo[key] = cost
    return cost


def smallest_assignment(table: int, k: int) -> Optional[List[Tuple[int, int]]]:
    """A smallest partial assignment under which a function of k variables is true.

    Among those of the fewest literals, the first is taken when each variable in turn prefers 1,
    then 0, then being left out. So a renamed formula gets the renamed assignment. The result has
    ``(variable, value)`` pairs by variable, none for a tautology; it is None if nothing satisfies
    the truth table.
    """
    memo: Dict[Tuple[int, int], int] = {}
    cost = _cost(table, k, memo)
    if cost == _IMPOSSIBLE:
        return None
    literals = []
    for variable in range(k):
        rest = k - variable - 1
        half = 1 << rest
        upper, lower = table >> half, table & ((1 << half) - 1)
        if cost and _cost(upper, rest, memo) == cost - 1:
            literals.append((variable, 1))
            table, cost = upper, cost - 1
        elif cost and _cost(lower, rest, memo) == cost - 1:
            literals.append((variable, 0))
            table, cost = lower, cost - 1
        else:
            table = upper & lower
    return literals


def smallest_answer(tokens: Sequence[str]) -> Optional[str]:
    """The :func:`smallest_assignment` of a propositional formula, as in a data set."""
    symbols = formula_symbols(tokens)
    literals = smallest_assignment(truth_table(tokens, symbols), len(symbols))
    if literals is None:
        return None
    return assignment_text((symbols[variable], value) for variable, value in literals)


def random_formula(
    rng: Random, length: int, symbols: Sequence[str], operators: Sequence[str] = RANDOM_OPERATORS
) -> List[str]:
    """Draws a formula in prefix notation the way Spot's ``randltl`` does.

    A leaf is one of the symbols or constants with equal weight; two tokens begin with a unary
    operator, of which there must be one; from three on each operator has equal weight, and the
    tokens left for two operands are split uniformly.
    """
    random = rng.random  # unlike randrange, one cheap call; the bias is below 2^-40
    leaves = (*symbols, "0", "1")
    unary = [operator for operator in operators if ARITY[operator] == 1]
    n_leaves, n_operators, n_unary = len(leaves), len(operators), len(unary)
    tokens: List[str] = []
    sizes = [length]
    while sizes:
        size = sizes.pop()
        if size == 1:
            tokens.append(leaves[int(random() * n_leaves)])
            continue
        if size > 2:
            operator = operators[int(random() * n_operators)]
        else:
            operator = unary[int(random() * n_unary) if n_unary > 1 else 0]
        tokens.append(operator)
        if ARITY[operator] == 1:
            sizes.append(size - 1)
        else:
            left = 1 + int(random() * (size - 2))
            sizes.append(size - 1 - left)
            sizes.append(left)  # on top: the left operand is written first
    return tokens
