"""Formulas without the symbols that their clauses define, the gates of a circuit.

Encoders of circuits name each gate, and write clauses that equate it with its operation (Tseitin
1968): four of them for ``g <-> (a xor b)``. Here the gates are found again. Models know formulas
over the circuit's inputs better than so many clauses.
"""

from graphlib import TopologicalSorter
from typing import Callable, Dict, FrozenSet, Iterator, List, Optional, Sequence, Set, Tuple

from sit_fairseq.domains.formulas.syntax import conjuncts, fold, formula_symbols, halved
from sit_fairseq.domains.prop.propositional import parse_assignment, truth_table

# Models are of little use for longer formulas.
_MOST_TOKENS = 1000

# Literals are the numbers of symbols, from 1 by first appearance, or their negatives.
Clause = FrozenSet[int]


def without_gates(tokens: Sequence[str]) -> Tuple[List[str], Callable[[Sequence[str]], List[str]]]:
    """An equally satisfiable formula over the inputs, and what adds the gates to its answers.

    Gates are conjunctions, disjunctions, exclusive ors of two inputs, and equivalences. Their
    clauses are conjuncts of ``tokens``, a well-formed formula, which is returned where it has no
    gate, or is shorter.
    """
    limit = min(len(tokens), _MOST_TOKENS)
    parts, symbols = conjuncts(tokens), formula_symbols(tokens)
    numbers = {symbol: number for number, symbol in enumerate(symbols, start=1)}
    clauses = [_clause(part, numbers) for part in parts]
    left = dict.fromkeys(clause for clause in clauses if clause)
    definitions = _definitions(symbols, left)
    inputs = {gate: formula_symbols(definition) for gate, definition in definitions.items()}
    order = list(TopologicalSorter(inputs).static_order())
    formulas: Dict[str, List[str]] = {}
    for gate in filter(definitions.get, order):
        formulas[gate] = _substituted(definitions[gate], formulas)
        if len(formulas[gate]) > limit:
            return list(tokens), list
    kept = [part for part, clause in zip(parts, clauses) if clause is None or clause in left]
    found = halved("&", [_substituted(part, formulas) for part in kept]) if kept else ["1"]
    if not definitions or len(found) > limit:
        return list(tokens), list

    def whole(answer: Sequence[str]) -> List[str]:
        values = dict(parse_assignment(answer))
        for symbol in order:
            if symbol in definitions:
                definition = [values.get(token, token) for token in definitions[symbol]]
                values[symbol] = str(truth_table(definition, ()))
            else:
                values.setdefault(symbol, "0")  # the answer holds with either value
        return [token for literal in values.items() for token in literal]

    return found, whole


def _clause(part: Sequence[str], numbers: Dict[str, int]) -> Optional[Clause]:
    """The literals of a disjunction; None for other formulas, and for one with a symbol and its
    negation."""

    def literals(token: str, operands: List[Optional[Clause]]) -> Optional[Clause]:
        if token in numbers:
            return frozenset([numbers[token]])
        if token not in ("|", "!") or None in operands:
            return None
        if token == "|":
            return operands[0] | operands[1]
        return frozenset(-x for x in operands[0]) if len(operands[0]) == 1 else None

    clause = fold(part, literals)
    return clause if clause and not any(-x in clause for x in clause) else None


def _definitions(symbols: Sequence[str], clauses: Dict[Clause, None]) -> Dict[str, List[str]]:
    """The operation of each gate, the symbols that appear last first; takes its clauses out."""
    having: Dict[int, List[Clause]] = {number: [] for number in range(1, 1 + len(symbols))}
    for clause in clauses:
        for x in clause:
            having[abs(x)].append(clause)
    found: Dict[str, List[str]] = {}
    for number in reversed(having):
        gate = symbols[number - 1]
        for definition, used in _operations(number, having[number], symbols):
            if used <= clauses.keys() and not _depends(definition, gate, found):
                found[gate] = definition
                for clause in used:
                    del clauses[clause]
                break
    return found


def _operations(
    number: int, clauses: Sequence[Clause], symbols: Sequence[str]
) -> Iterator[Tuple[List[str], Set[Clause]]]:
    """The operations that a symbol may be, each with the clauses that equate it with the symbol."""
    for clause in clauses:
        x = number if number in clause else -number
        others = sorted(clause - {x}, key=abs)
        if not others:
            continue
        # x is true exactly if none of the others is.
        sign, operator = (-1, "&") if x > 0 else (1, "|")
        operands = [["!"] * (sign * y < 0) + [symbols[abs(y) - 1]] for y in others]
        yield halved(operator, operands), {clause, *(frozenset([-x, -y]) for y in others)}
        if len(others) == 2:
            y, z = others
            operator = "<->" if x * y * z > 0 else "xor"
            triples = ((x, y, z), (x, -y, -z), (-x, y, -z), (-x, -y, z))
            used = {frozenset(triple) for triple in triples}
            yield [operator, *(symbols[abs(other) - 1] for other in others)], used


def _depends(definition: Sequence[str], gate: str, definitions: Dict[str, List[str]]) -> bool:
    """Whether a gate is an input of a definition, or of the definitions of its inputs."""
    todo, seen = list(definition), set()
    while todo:
        token = todo.pop()
        if token not in seen:
            seen.add(token)
            todo += definitions.get(token, ())
    return gate in seen


def _substituted(tokens: Sequence[str], formulas: Dict[str, List[str]]) -> List[str]:
    """A formula with formulas for some of its symbols, without double negations."""
    found: List[str] = []
    for token in tokens:
        for new in formulas.get(token, [token]):
            if new == "!" and found[-1:] == ["!"]:
                found.pop()
            else:
                found.append(new)
    return found
