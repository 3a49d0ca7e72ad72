"""Propositional logic: formulas, and partial assignments that imply them."""

from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Iterator, List

from sit_fairseq.domains import Domain
from sit_fairseq.domains.formulas.dimacs import read_problem, split_problems
from sit_fairseq.domains.formulas.held_out import held_out_sets
from sit_fairseq.domains.formulas.infix import named
from sit_fairseq.domains.formulas.reading import read_formula
from sit_fairseq.domains.formulas.syntax import ARITY, OPERATORS, SYMBOLS, balanced, exchanged
from sit_fairseq.domains.prop.aiger_judge import AigerJudge
from sit_fairseq.domains.prop.assignment_grammar import AssignmentGrammar
from sit_fairseq.domains.prop.gates import without_gates
from sit_fairseq.domains.prop.judges import BitsJudge
from sit_fairseq.domains.prop.propositional import is_contingent, literals_text, same_literals
from sit_fairseq.domains.prop.recipe import LABELS, PropCells, PropRecipe
from sit_fairseq.errors import EXTRAS, UserError


def _network_functions() -> Iterator[List[str]]:
    """The functions of gene networks that ship with pyboolnet; a UserError without it."""
    package = find_spec("pyboolnet")
    if package is None:
        raise UserError("Functions of gene networks need pyboolnet: pip install pyboolnet.")
    folder = Path(package.submodule_search_locations[0], "repository")
    for path in sorted(folder.glob("*/*.bnet")):
        for line in path.read_text(encoding="utf-8").splitlines():
            target, comma, function = line.partition(",")
            if comma and not target.strip().startswith("#") and target.strip() != "targets":
                yield read_formula(function, temporal=False).tokens


EXTRAS["prop"] = ("aiger", "aiger_sat", "pysat")

DOMAIN = Domain(
    name="prop",
    version=1,
    symbols=SYMBOLS,
    judges={"bits": BitsJudge, "aiger": AigerJudge},
    arity={operator: ARITY[operator] for operator in OPERATORS},
    grammar=AssignmentGrammar,
    read=partial(read_problem, temporal=False),
    write=named(literals_text),
    split=split_problems,
    rewrite=lambda tokens: [
        without_gates(tokens),
        (balanced(tokens), list),
        (exchanged(tokens), list),
    ],
    recipe=PropRecipe,
    labels=LABELS,
    cells=PropCells,
    held_out=lambda: held_out_sets("networks", _network_functions(), 60, is_contingent),
    equal=same_literals,
    model="prop",
)
