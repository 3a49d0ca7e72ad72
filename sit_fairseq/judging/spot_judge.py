"""Linear temporal logic by Spot's automata: the judge, traces and random formulas.

The only file that imports Spot, and only when it is needed. Spot is GPL-3 and stays an
optional dependency.
"""

import logging
from functools import lru_cache
from itertools import count
from typing import Dict, Iterator, List, Optional, Sequence, Tuple

from sit_fairseq.judging.judge import Judge, Sentence, as_tokens
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.logic.infix import infix
from sit_fairseq.logic.ltl import (
    MalformedTrace,
    Step,
    Trace,
    canonical_names,
    check_ltl,
    parse_trace,
)
from sit_fairseq.logic.syntax import CYCLE_END, CYCLE_START, MalformedFormula
from sit_fairseq.symbols.renaming import Renaming

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

# Spot's prefix notation where it differs from ours.
_LBT_TOKENS = {"t": "1", "f": "0", "^": "xor", "i": "->", "e": "<->"}


@lru_cache(maxsize=None)
def spot_installed() -> bool:
    """Whether Spot can be imported, and is Spot."""
    try:
        import spot
    except ImportError:
        return False
    return hasattr(spot, "translate")


@lru_cache(maxsize=_CACHE_SIZE)
def _counterexamples(formula: str):
    """The automaton of all words that violate a formula in infix notation.

    No effort is made to shrink it, which takes longer than intersecting it with a lasso.
    """
    import spot

    negation = spot.formula.Not(spot.formula(formula))
    return spot.translate(negation, "low", xargs=_NO_SIMULATION)


def _step_bdd(step: Sequence[str], leaves: Dict):
    """The decision diagram of a step, from its leaves up."""
    stack = []
    for token in reversed(step):
        if token in leaves:
            stack.append(leaves[token])
            continue
        left = stack.pop()
        if token == "!":
            stack.append(-left)
            continue
        right = stack.pop()
        if token == "&":
            stack.append(left & right)
        elif token == "|":
            stack.append(left | right)
        elif token == "xor":
            stack.append(left ^ right)
        elif token == "<->":
            stack.append(-(left ^ right))
        else:
            stack.append(left >> right)
    return stack[0]


def _lasso(trace: Trace, names: Dict[str, str]):
    """The automaton of all words of a trace, one state per step; None if there are none.

    Args:
        trace: the trace.
        names: from each of its symbols, and maybe more, to what the automaton calls it.
    """
    import spot

    buddy = spot.buddy  # as a module of its own it is not always on the path
    lasso = spot.make_twa_graph()
    leaves = {"0": buddy.bddfalse, "1": buddy.bddtrue}
    for symbol in trace.symbols:
        leaves[symbol] = buddy.bdd_ithvar(lasso.register_ap(names[symbol]))
    lasso.new_states(len(trace.steps))
    lasso.set_init_state(0)
    following = [*range(1, len(trace.steps)), len(trace.prefix)]
    for state, (step, successor) in enumerate(zip(trace.steps, following)):
        letters = _step_bdd(step, leaves)
        if letters == buddy.bddfalse:
            return None
        lasso.new_edge(state, successor, letters)
    return lasso


def spot_trace(formula: Sequence[str]) -> Optional[Trace]:
    """Labels a formula by the rule of LTLRandom35 (DeepLTL, Hahn et al. 2021).

    The label is an accepting run of the formula's automaton, which there was shrunk with
    all that Spot has to offer. Here it is not: about one label in four differs, none takes
    minutes, and the label depends on nothing but the formula (Spot's reductions make some
    depend on the formulas before it). Symbols have canonical names, so a renamed formula
    gets the renamed label.

    Args:
        formula: the tokens of a well-formed LTL formula.

    Returns:
        The trace; None if the formula is unsatisfiable.
    """
    import spot

    renaming = Renaming(canonical_names(formula))
    variables = spot.make_bdd_dict()
    holder = spot.make_twa_graph(variables)  # numbers the variables by first appearance
    for name in renaming.mapping.values():
        holder.register_ap(name)
    canonical = spot.formula(infix(renaming.tokens(formula)))
    automaton = spot.translate(canonical, "low", dict=variables, xargs=_NO_SIMULATION)
    automaton.merge_edges()
    run = automaton.accepting_run()
    if run is None:
        return None
    word = spot.twa_word(run)
    undo = renaming.inverse()

    def steps(letters) -> Tuple[Step, ...]:
        formulas = (spot.bdd_to_formula(letter, variables) for letter in letters)
        return tuple(tuple(undo.tokens(_spot_tokens(formula))) for formula in formulas)

    return Trace(steps(word.prefix), steps(word.cycle))


def _spot_tokens(formula) -> List[str]:
    """The tokens of one of Spot's formulas over p0, p1, ..., which LBT does not quote."""
    return [_LBT_TOKENS.get(token, token) for token in formula.to_str("lbt").split()]


# Numbers of symbols that nothing else uses, a million for each call of random_formulas.
_unseen_symbols = count(10**6, 10**6)


def random_formulas(n_symbols: int, shortest: int, longest: int, seed: int) -> Iterator[List[str]]:
    """Draws formulas by the rule of LTLRandom35: Spot's ``randltl``, duplicates included.

    Constants, every symbol and the operators ``! X U &`` have equal weight. Spot rewrites
    what is trivial (``& a 1``), so a formula may come out shorter than it was drawn.

    Args:
        n_symbols: number of symbols.
        shortest: smallest tree size drawn.
        longest: largest tree size drawn.
        seed: the same one brings the same formulas.

    Yields:
        Formulas over p0, p1, ..., without end. Conjuncts are in an order that depends on
        what Spot has seen before: pass what is used to :func:`conjuncts_sorted`.
    """
    import spot

    # Spot cuts the string of the priorities to pieces where it lies: not to be a constant.
    priorities = ",".join(
        f"{name}={int(name in ('false', 'true', 'not', 'X', 'U', 'and'))}"
        for name in "false true not F G X equiv implies xor R U W M and or".split()
    )
    # Spot numbers symbols by when the process first saw them: take some it has never seen.
    first = next(_unseen_symbols)
    symbols = [f"p{first + index}" for index in range(n_symbols)]
    renaming = Renaming({symbol: f"p{index}" for index, symbol in enumerate(symbols)})
    formulas = spot.randltl(
        symbols,
        seed=seed,
        tree_size=(shortest, longest),
        ltl_priorities=priorities,
        simplify=0,
        allow_dups=True,
    )
    for formula in formulas:
        yield renaming.tokens(_spot_tokens(formula))


def conjuncts_sorted(tokens: Sequence[str]) -> List[str]:
    """Puts conjuncts in an order that depends on nothing but the formula.

    Args:
        tokens: a formula of ``! X U &``.

    Returns:
        The same formula: Boolean conjuncts first, then shorter ones.
    """
    stack: List[List[List[str]]] = []  # of each operand its conjuncts

    def pop() -> List[str]:
        conjuncts = stack.pop()
        if len(conjuncts) == 1:
            return conjuncts[0]
        conjuncts.sort(key=lambda x: (not {"X", "U"}.isdisjoint(x), len(x), x))
        return ["&"] * (len(conjuncts) - 1) + [token for x in conjuncts for token in x]

    for token in reversed(tokens):
        if token == "&":
            stack.append(stack.pop() + stack.pop())
        elif token == "U":
            stack.append([[token, *pop(), *pop()]])
        elif token in ("!", "X"):
            stack.append([[token, *pop()]])
        else:
            stack.append([[token]])
    return pop()


def spots_own_form(tokens: Sequence[str]) -> List[str]:
    """Rewrites a formula as Spot does whenever it makes one: ``& a 1`` is ``a``.

    Args:
        tokens: a formula of ``! X U &`` over p0, p1, ....

    Returns:
        The formula as :func:`random_formulas` yields it and :func:`conjuncts_sorted` sorts it.
    """
    import spot

    return conjuncts_sorted(_spot_tokens(spot.formula(infix(tokens))))


def spot_version() -> str:
    """The version of Spot, which must be installed."""
    import spot

    return spot.version()


class SpotJudge(Judge):
    """Asks Spot for a word of the trace that violates the formula.

    An answer is a symbolic trace as in ``a ; & a b ; { b }``, which stands for all words
    that agree with it. The verdict is

    * error, if the formula is malformed or Spot gives up on it (the reason is logged at
      debug level);
    * invalid, if the answer is no trace;
    * vacuous, if a step contradicts itself, so that there are no such words;
    * satisfied, if every word satisfies the formula, and violated otherwise.

    A trace may constrain symbols that the formula does not have, as in the paper's example
    ``a ; & a ! b ; { c }`` for ``U 1 c`` (appendix C.2): inclusion is all that counts.

    Spot gets to see ``p0``, ``p1``, ... in place of the symbols.
    """

    semantics = "ltl"
    name = "spot"
    needs = frozenset((CYCLE_START, CYCLE_END))

    def __init__(self) -> None:
        self._installed = spot_installed()
        if not self._installed:
            logger.warning("The spot judge needs Spot: %s", INSTALL_HINT)

    def __setstate__(self, state: Dict) -> None:
        # A worker loads Spot before the time of its first item is taken.
        self._installed = spot_installed()

    def missing(self) -> Optional[str]:
        return None if self._installed else INSTALL_HINT

    def check(self, problem: Sentence) -> None:
        check_ltl(as_tokens(problem))

    def verify(self, problem: Sentence, answer: Sentence) -> Verdict:
        formula = as_tokens(problem)
        try:
            self.check(formula)
        except MalformedFormula as error:
            logger.debug("%s in: %s", error, " ".join(formula))
            return Verdict.error
        names = canonical_names(formula)
        try:
            trace = parse_trace(as_tokens(answer))
        except MalformedTrace as error:
            logger.debug("%s in: %s", error, answer)
            return Verdict.invalid
        for symbol in trace.symbols:
            names.setdefault(symbol, f"p{len(names)}")
        if not self._installed:
            return Verdict.unavailable
        try:
            lasso = _lasso(trace, names)
            if lasso is None:
                return Verdict.vacuous
            renamed = Renaming(names).tokens(formula)
            violated = lasso.intersects(_counterexamples(infix(renamed)))
        except MemoryError:  # where it was caught, Spot may still hold on to what there is
            raise
        except Exception as error:  # Spot's: runtime_error, its parser's
            logger.debug("Spot: %s in: %s", error, " ".join(formula))
            return Verdict.error
        return Verdict.violated if violated else Verdict.satisfied
