"""Formulas that people wrote, made at run time from packages that bring them, and wide ones.

``ltl``: the specification patterns that ship with Spot (``spot.gen``: Dwyer, Avrunin and Corbett;
Etessami and Holzmann; Holeček et al.; Somenzi and Bloem; Pelánek; Lily; Sickert et al.). ``prop``:
the functions of the gene networks that ship with pyboolnet. Each is also negated, where that is
satisfiable. No formula is a renaming of another.
"""

import random
from importlib.util import find_spec
from pathlib import Path
from typing import Dict, Iterator, List

from sit_fairseq.datasets.recipes import formula_key
from sit_fairseq.domains.formulas.reading import read_formula
from sit_fairseq.domains.ltl.spot_judge import require_spot, spot_trace
from sit_fairseq.domains.prop.propositional import is_contingent
from sit_fairseq.errors import UserError

_PATTERNS = ("DAC", "EH", "HKRSS", "SB", "P", "LILY", "SEJK")

# The most tokens of a formula, before its negation.
LONGEST = {"ltl": 35, "prop": 60}

# Literals of a wide conjunction, and how many there are of each number.
_WIDTHS, _PER_WIDTH = range(2, 17), 10


def real_sets(semantics: str) -> Dict[str, List[str]]:
    """The sets of a logic, ``ltl`` or ``prop``: formulas in prefix notation over p0, p1, ..., by
    name.

    Raises:
        UserError: the package that brings them is missing.
    """
    written, satisfiable = _SOURCES[semantics]
    plain: Dict[int, List[str]] = {}
    for tokens in written():
        if len(tokens) <= LONGEST[semantics] and satisfiable(tokens):
            plain.setdefault(formula_key(tokens), tokens)
    negated = {}
    for tokens in plain.values():
        opposite = tokens[1:] if tokens[0] == "!" else ["!", *tokens]
        if satisfiable(opposite):
            negated.setdefault(formula_key(opposite), opposite)
    name = {"ltl": "patterns", "prop": "networks"}[semantics]
    sets = {name: plain, f"negated_{name}": negated, "wide": _wide()}
    return {name: [" ".join(tokens) for tokens in found.values()] for name, found in sets.items()}


def _spot_patterns() -> Iterator[List[str]]:
    require_spot("The patterns of Spot need")
    from spot import gen

    for name in _PATTERNS:
        family = getattr(gen, f"LTL_{name}_PATTERNS")
        for number in range(1, gen.ltl_pattern_max(family) + 1):
            text = gen.ltl_pattern(family, number).to_str("spot", True)
            yield read_formula(text, temporal=True).tokens


def _network_functions() -> Iterator[List[str]]:
    package = find_spec("pyboolnet")
    if package is None:
        raise UserError("Functions of gene networks need pyboolnet: pip install pyboolnet.")
    folder = Path(package.submodule_search_locations[0], "repository")
    for path in sorted(folder.glob("*/*.bnet")):
        for line in path.read_text(encoding="utf-8").splitlines():
            target, comma, function = line.partition(",")
            if comma and not target.strip().startswith("#") and target.strip() != "targets":
                yield read_formula(function, temporal=False).tokens


def _wide() -> Dict[int, List[str]]:
    """Conjunctions of literals of different symbols, nested to the left as Spot reads them."""
    rng = random.Random(1)
    found = {}
    for width in _WIDTHS:
        for _ in range(_PER_WIDTH):
            literals = [["!"] * rng.randint(0, 1) + [f"p{number}"] for number in range(width)]
            tokens = ["&"] * (width - 1) + [token for literal in literals for token in literal]
            found[formula_key(tokens)] = tokens
    return found


_SOURCES: Dict[str, tuple] = {
    "ltl": (_spot_patterns, lambda tokens: spot_trace(tokens) is not None),
    "prop": (_network_functions, is_contingent),
}
