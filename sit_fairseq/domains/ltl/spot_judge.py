"""Linear temporal logic by Spot's automata: the judge, traces and random formulas.

Only this file imports Spot, when it is needed: it is GPL-3, an optional dependency.
"""

import logging
from functools import lru_cache
from itertools import count
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, TypeVar

from sit_fairseq.domains.formulas.infix import infix
from sit_fairseq.domains.formulas.judge import FormulaJudge
from sit_fairseq.domains.formulas.reading import LBT
from sit_fairseq.domains.formulas.syntax import canonical_names, fold
from sit_fairseq.domains.ltl.traces import Step, Trace, check_ltl, parse_trace
from sit_fairseq.errors import UserError
from sit_fairseq.judging.verdict import Verdict

T = TypeVar("T")

logger = logging.getLogger(__name__)

# The project `spot` on PyPI is another one: only the module is called so.
INSTALL_HINT = (
    "pip install spottl (Linux on x86_64), elsewhere conda install -c conda-forge spot; "
    "never pip install spot, which is another project"
)

# Automata kept for formulas that come again: beams, samples, renamed copies.
_CACHE_SIZE = 1024

# Reducing automata by simulation is most of the time of Spot, and nearly all of it where
# it takes minutes: there are formulas of 35 tokens that take 0.06 seconds without.
_NO_SIMULATION = "simul=0"


@lru_cache(maxsize=None)
def spot_installed() -> bool:
    """Whether Spot can be imported, and is Spot."""
    try:
        import spot
    except ImportError:
        return False
    return hasattr(spot, "translate")


def _renamed(tokens: Sequence[str], names: Mapping[str, str]) -> List[str]:
    return [names.get(token, token) for token in tokens]


@lru_cache(maxsize=_CACHE_SIZE)
def _counterexamples(formula: str) -> Any:
    """The automaton of all words that violate a formula in infix notation; shrinking it would take
    longer than intersecting it with a lasso."""
    import spot

    negation = spot.formula.Not(spot.formula(formula))
    return spot.translate(negation, "low", xargs=_NO_SIMULATION)


class SpotJudge(FormulaJudge):
    """Asks Spot for a word of the trace that violates the formula.

    An answer is a symbolic trace as in ``a ; & a b ; { b }``, which stands for all words that agree
    with it. The verdict is

    * error, if the formula is malformed or Spot gives up on it (a warning says why);
    * invalid, if the answer is no trace;
    * vacuous, if a step contradicts itself, so that there are no such words;
    * satisfied, if every word satisfies the formula, and violated otherwise.

    A trace may constrain symbols that the formula does not have, as in the paper's example ``a ; &
    a ! b ; { c }`` for ``U 1 c`` (appendix C.2): inclusion is all that counts. A formula has a
    right answer exactly if it is satisfiable. Spot gets to see ``p0``, ``p1``, ... in place of the
    symbols.
    """

    semantics = "ltl"
    name = "spot"

    def __init__(self) -> None:
        if not spot_installed():
            self.missing = INSTALL_HINT
            logger.warning("The spot judge needs Spot: %s", INSTALL_HINT)

    def __reduce__(self) -> Tuple:
        return SpotJudge, ()  # a worker loads Spot before the time of its first item is taken

    def versions(self) -> Dict[str, Optional[str]]:
        if not spot_installed():
            return {"spot": None}
        import spot

        return {"spot": spot.version()}

    def check(self, source: str) -> None:
        check_ltl(source.split())

    def decide(self, formula: List[str], answer: List[str]) -> Verdict:
        trace = parse_trace(answer)
        if self.missing:
            return Verdict.unavailable
        import spot

        names = canonical_names([*formula, *trace.symbols])
        steps = ([tuple(_renamed(step, names)) for step in part] for part in trace)

        def judged() -> Verdict:
            words = spot.parse_word(Trace(*map(tuple, steps)).infix()).as_automaton()
            if words.is_empty():
                return Verdict.vacuous
            violated = words.intersects(_counterexamples(infix(_renamed(formula, names))))
            return Verdict.violated if violated else Verdict.satisfied

        return _unless_spot_fails(judged, formula) or Verdict.error

    def satisfiable(self, formula: List[str]) -> Optional[bool]:
        return _unless_spot_fails(
            lambda: not _counterexamples(infix(["!", *formula])).is_empty(), formula
        )


def _unless_spot_fails(ask: Callable[[], T], formula: Sequence[str]) -> Optional[T]:
    try:
        return ask()
    except MemoryError:  # where it was caught, Spot may still hold on to what there is
        raise
    except Exception as error:  # Spot's: runtime_error, its parser's
        logger.warning("Spot: %s, on: %s", error, " ".join(formula))
        return None


def spot_trace(formula: Sequence[str]) -> Optional[Trace]:
    """Labels a well-formed formula by the rule of LTLRandom35 (DeepLTL, Hahn et al. 2021).

    The label is an accepting run of the formula's automaton. DeepLTL first shrinks the automaton by
    all of Spot's reductions. We do not: with them some formulas take minutes, and some labels
    depend on the formulas labelled before. So about one label in four differs from DeepLTL's; ours
    depends on the formula alone. Symbols have canonical names, so a renamed formula gets the
    renamed label. None if the formula is unsatisfiable.
    """
    import spot

    names = canonical_names(formula)
    variables = spot.make_bdd_dict()
    holder = spot.make_twa_graph(variables)  # numbers the variables by first appearance
    for name in names.values():
        holder.register_ap(name)
    canonical = spot.formula(infix(_renamed(formula, names)))
    automaton = spot.translate(canonical, "low", dict=variables, xargs=_NO_SIMULATION)
    automaton.merge_edges()
    run = automaton.accepting_run()
    if run is None:
        return None
    word = spot.twa_word(run)
    symbols = {name: symbol for symbol, name in names.items()}

    def steps(letters: Any) -> Tuple[Step, ...]:
        formulas = (spot.bdd_to_formula(letter, variables) for letter in letters)
        return tuple(tuple(_renamed(_spot_tokens(formula), symbols)) for formula in formulas)

    return Trace(steps(word.prefix), steps(word.cycle))


def _spot_tokens(formula: Any) -> List[str]:
    """The tokens of one of Spot's formulas over p0, p1, ..., which LBT does not quote."""
    return _renamed(formula.to_str("lbt").split(), LBT)


def spot_patterns() -> Iterator[str]:
    """Specifications that ship with Spot, in infix notation (Dwyer, Avrunin and Corbett; Etessami
    and Holzmann; Holeček et al.; Somenzi and Bloem; Pelánek; Lily; Sickert et al.)."""
    if not spot_installed():
        raise UserError(f"The patterns of Spot need Spot: {INSTALL_HINT}.")
    from spot import gen

    for name in ("DAC", "EH", "HKRSS", "SB", "P", "LILY", "SEJK"):
        family = getattr(gen, f"LTL_{name}_PATTERNS")
        for number in range(1, gen.ltl_pattern_max(family) + 1):
            yield gen.ltl_pattern(family, number).to_str("spot", True)


# Numbers of symbols that nothing else uses, a million for each call of random_formulas.
_unseen_symbols = count(10**6, 10**6)


def random_formulas(n_symbols: int, shortest: int, longest: int, seed: int) -> Iterator[List[str]]:
    """Draws formulas over p0, p1, ... by the rule of LTLRandom35: Spot's ``randltl``, duplicates
    included, with trees of ``shortest`` to ``longest`` tokens.

    Constants, every symbol and the operators ``! X U &`` have equal weight. Spot rewrites what is
    trivial (``& a 1``), so a formula may come out shorter than it was drawn.
    """
    import spot

    # Spot cuts the string of the priorities to pieces where it lies: not to be a constant.
    priorities = ",".join(
        f"{name}={int(name in ('false', 'true', 'not', 'X', 'U', 'and'))}"
        for name in "false true not F G X equiv implies xor R U W M and or".split()
    )
    # Spot numbers symbols by when the process first saw them: take some it has never seen.
    first = next(_unseen_symbols)
    names = {f"p{first + index}": f"p{index}" for index in range(n_symbols)}
    formulas = spot.randltl(
        list(names),
        seed=seed,
        tree_size=(shortest, longest),
        ltl_priorities=priorities,
        simplify=0,
        allow_dups=True,
    )
    for formula in formulas:
        yield _renamed(_spot_tokens(formula), names)


def conjuncts_sorted(tokens: Sequence[str]) -> List[str]:
    """Puts the conjuncts of a formula of ``! X U &`` in an order that depends on nothing but the
    formula: Boolean ones first, then shorter ones."""

    def joined(conjuncts: List[List[str]]) -> List[str]:
        conjuncts.sort(key=lambda x: (not {"X", "U"}.isdisjoint(x), len(x), x))
        return ["&"] * (len(conjuncts) - 1) + [token for x in conjuncts for token in x]

    def conjuncts(token: str, operands: List[List[List[str]]]) -> List[List[str]]:
        if token == "&":
            return operands[0] + operands[1]
        return [[token, *(t for operand in operands for t in joined(operand))]]

    return joined(fold(tokens, conjuncts))


def spots_own_form(tokens: Sequence[str]) -> List[str]:
    """Rewrites a formula of ``! X U &`` over p0, p1, ... as Spot does whenever it makes one, ``& a
    1`` as ``a``, its conjuncts sorted."""
    import spot

    return conjuncts_sorted(_spot_tokens(spot.formula(infix(tokens))))
