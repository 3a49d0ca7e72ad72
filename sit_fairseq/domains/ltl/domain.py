"""Linear temporal logic: formulas, and symbolic traces that satisfy them."""

from functools import partial
from typing import Iterator, List

from sit_fairseq.domains import Domain
from sit_fairseq.domains.formulas.dimacs import read_problem, split_problems
from sit_fairseq.domains.formulas.held_out import held_out_sets
from sit_fairseq.domains.formulas.infix import named
from sit_fairseq.domains.formulas.reading import read_formula
from sit_fairseq.domains.formulas.syntax import ARITY, SYMBOLS, balanced, exchanged
from sit_fairseq.domains.ltl.elimination import without_idle_symbols
from sit_fairseq.domains.ltl.recipe import LABELS, LtlCells, LtlRecipe
from sit_fairseq.domains.ltl.spot_judge import SpotJudge, spot_patterns, spot_trace
from sit_fairseq.domains.ltl.trace_grammar import TraceGrammar
from sit_fairseq.domains.ltl.traces import same_trace, trace_text
from sit_fairseq.errors import EXTRAS


def _patterns() -> Iterator[List[str]]:
    return (read_formula(text, temporal=True).tokens for text in spot_patterns())


EXTRAS["ltl"] = ("spot",)

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
    rewrite=lambda tokens: [
        without_idle_symbols(tokens),
        (balanced(tokens), list),
        (exchanged(tokens), list),
    ],
    recipe=LtlRecipe,
    labels=LABELS,
    cells=LtlCells,
    held_out=lambda: held_out_sets("patterns", _patterns(), 35, spot_trace),
    equal=same_trace,
    model="ltl",
)
