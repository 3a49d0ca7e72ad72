"""Boolean functions that people wrote: those of the gene networks that ship with pyboolnet."""

from importlib.util import find_spec
from pathlib import Path
from typing import Dict, Iterator, List

from sit_fairseq.domains.formulas.held_out import held_out_sets
from sit_fairseq.domains.formulas.reading import read_formula
from sit_fairseq.domains.prop.propositional import is_contingent
from sit_fairseq.errors import UserError

# The most tokens of a formula, before its negation.
_LONGEST = 60


def network_sets() -> Dict[str, List[str]]:
    """Formulas in prefix notation over p0, p1, ..., by set; a UserError without pyboolnet."""
    return held_out_sets("networks", _network_functions(), _LONGEST, is_contingent)


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
