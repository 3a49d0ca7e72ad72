"""Depth-first labels: the assignment that a walk through a formula finds first.

The root is to be true, and the walk goes from it to the operands, the left one first. Where there
is a choice it tries the left operand first, and true before false, and takes back what leads
nowhere. What is not needed is not looked at, and ``!`` asks the opposite of its operand.

A symbol keeps the value that was first asked of it; literals stand in the order in which they are
found. Only the tree decides, so a renamed formula gets the renamed label.
"""

from typing import Dict, List, Optional, Sequence, Tuple

from sit_fairseq.domains.formulas.syntax import ARITY, CONSTANTS, formula_symbols
from sit_fairseq.domains.prop.propositional import assignment_text, subformula_tables

# What is asked of an operand: to be true, to be false, or nothing.
_Demand = Optional[bool]
_Demands = Tuple[_Demand, _Demand]

# What an operator of which a value is asked first asks of its operands, and what otherwise.
_WAYS: Dict[Tuple[str, bool], Tuple[_Demands, _Demands]] = {
    ("&", True): ((True, True), (True, True)),
    ("&", False): ((False, None), (None, False)),
    ("|", True): ((True, None), (None, True)),
    ("|", False): ((False, False), (False, False)),
    ("->", True): ((False, None), (None, True)),
    ("->", False): ((True, False), (True, False)),
    ("xor", True): ((True, False), (False, True)),
    ("xor", False): ((True, True), (False, False)),
    ("<->", True): ((True, True), (False, False)),
    ("<->", False): ((True, False), (False, True)),
}


def depth_first_assignment(tokens: Sequence[str]) -> Optional[List[Tuple[str, int]]]:
    """The assignment of the walk: ``(symbol, value)`` pairs in the order found; None if the formula
    is unsatisfiable. A MalformedFormula if the tokens are not one propositional formula."""
    tables = subformula_tables(tokens, formula_symbols(tokens))
    # The assignments that meet all demands so far. A way is taken only if some are left: then
    # it leads to the end, and nothing ever has to be taken back. So the number of steps is that
    # of the tokens, and what is found is what backtracking finds.
    meeting = tables[0]
    if not meeting:
        return None
    values: Dict[str, int] = {}
    demands: List[_Demand] = [True]  # of the operands to come, the next one last
    for position, token in enumerate(tokens):
        demand = demands.pop()
        if token == "!":
            demands.append(None if demand is None else not demand)
        elif token in ARITY:
            left, right = None, None
            if demand is not None:
                (left, right), otherwise = _WAYS[token, demand]
                table = tables[position + 1]  # of the left operand, which comes next
                rest = meeting & (table if left else ~table)
                if rest:
                    meeting = rest
                else:
                    left, right = otherwise
            demands += (right, left)
        elif demand is not None and token not in CONSTANTS:
            values.setdefault(token, int(demand))
    return list(values.items())


def depth_first_answer(tokens: Sequence[str]) -> Optional[str]:
    """The :func:`depth_first_assignment` as in a data set: ``a 1`` for ``| a ! a``."""
    literals = depth_first_assignment(tokens)
    return None if literals is None else assignment_text(literals)
