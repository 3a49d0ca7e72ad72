"""Sets of formulas that people wrote, with their negations, and wide ones."""

import random
from typing import Any, Callable, Dict, Iterable, List, Sequence

from sit_fairseq.domains.formulas.syntax import formula_symbols
from sit_fairseq.symbols.canonical_form import form_key

# Literals of a wide conjunction, and how many there are of each number.
_WIDTHS, _PER_WIDTH = range(2, 17), 10


def held_out_sets(
    name: str, written: Iterable[List[str]], longest: int, usable: Callable[[Sequence[str]], Any]
) -> Dict[str, List[str]]:
    """The set ``name`` of formulas that people wrote, of at most ``longest`` tokens, the same
    negated, and conjunctions of literals: those that are ``usable``, and none a renaming of
    another."""
    plain: Dict[int, List[str]] = {}
    for tokens in written:
        if len(tokens) <= longest and usable(tokens):
            plain.setdefault(_key(tokens), tokens)
    negated: Dict[int, List[str]] = {}
    for tokens in plain.values():
        opposite = tokens[1:] if tokens[0] == "!" else ["!", *tokens]
        if usable(opposite):
            negated.setdefault(_key(opposite), opposite)
    sets = {name: plain, f"negated_{name}": negated, "wide": _wide()}
    return {name: [" ".join(tokens) for tokens in found.values()] for name, found in sets.items()}


def _wide() -> Dict[int, List[str]]:
    """Conjunctions of literals of different symbols, nested to the left as Spot reads them."""
    rng = random.Random(1)
    found = {}
    for width in _WIDTHS:
        for _ in range(_PER_WIDTH):
            literals = [["!"] * rng.randint(0, 1) + [f"p{number}"] for number in range(width)]
            tokens = ["&"] * (width - 1) + [token for literal in literals for token in literal]
            found[_key(tokens)] = tokens
    return found


def _key(formula: Sequence[str]) -> int:
    """The key that all renamings of a formula share."""
    return form_key(formula, formula_symbols(formula))
