"""Linear temporal logic: formulas, and symbolic traces that satisfy them."""

from functools import partial

from sit_fairseq.domains import Domain
from sit_fairseq.domains.formulas.dimacs import read_problem, split_problems
from sit_fairseq.domains.formulas.infix import named
from sit_fairseq.domains.formulas.syntax import ARITY, SYMBOLS
from sit_fairseq.domains.ltl.elimination import without_idle_symbols
from sit_fairseq.domains.ltl.held_out import pattern_sets
from sit_fairseq.domains.ltl.recipe import LABELS, LtlCells, LtlRecipe, ltl_versions
from sit_fairseq.domains.ltl.spot_judge import SpotJudge
from sit_fairseq.domains.ltl.trace_grammar import TraceGrammar
from sit_fairseq.domains.ltl.traces import same_trace, trace_text

DOMAIN = Domain(
    name="ltl",
    version=1,
    symbols=SYMBOLS,
    judges={"spot": SpotJudge},
    arity=ARITY,
    grammar=TraceGrammar,
    read=partial(read_problem, temporal=True),
    write=named(trace_text),
    split=split_problems,
    rewrite=without_idle_symbols,
    recipe=LtlRecipe,
    labels=LABELS,
    faults=("rewritten", "unsatisfiable", "timeout", "error", "zero_in_trace"),
    cells=LtlCells,
    versions=ltl_versions,
    held_out=pattern_sets,
    equal=same_trace,
    model="ltl",
)
