"""Propositional logic: formulas, and partial assignments that imply them."""

from functools import partial

from sit_fairseq.domains import Domain
from sit_fairseq.domains.formulas.dimacs import read_problem, split_problems
from sit_fairseq.domains.formulas.infix import named
from sit_fairseq.domains.formulas.syntax import ARITY, OPERATORS, SYMBOLS, balanced
from sit_fairseq.domains.prop.aiger_judge import AigerJudge
from sit_fairseq.domains.prop.assignment_grammar import AssignmentGrammar
from sit_fairseq.domains.prop.held_out import network_sets
from sit_fairseq.domains.prop.judges import BitsJudge
from sit_fairseq.domains.prop.propositional import literals_text, same_literals
from sit_fairseq.domains.prop.recipe import LABELS, PropRecipe, prop_cells

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
    rewrite=lambda tokens: (balanced(tokens), list),
    recipe=PropRecipe,
    labels=LABELS,
    faults=("unsatisfiable", "tautology"),
    cells=prop_cells,
    held_out=network_sets,
    equal=same_literals,
    model="prop",
)
