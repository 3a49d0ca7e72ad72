"""The prompts of the paper, word for word.

The two listings are quoted from the appendix "LLM Setup" of Işık and Li, "Names Don't Matter:
Symbol-Invariant Transformer for Open-Vocabulary Learning", ICML 2026, spelling included. The
paper asked GPT-5.2 by the Responses API, with four examples, a reasoning effort of medium and a
verbosity of low; for alpha-covariance without reasoning and at temperature 0.

What it does not print is done like this: formulas are written as those of its examples are;
double braces are single ones in the prompt, since its placeholder is one of Python's; the schema of
an assignment has the symbols of the formula, none of which must be there.
"""

from typing import Dict, List, Mapping, Optional, Sequence

from sit_fairseq.evaluation.llm.dialect import (
    DIALECTS,
    Dialect,
    Example,
    LtlDialect,
    PropDialect,
)
from sit_fairseq.logic.infix import infix
from sit_fairseq.logic.syntax import formula_symbols, tokenize

LTL_LISTING = """\
Your task is to generate a satisfying trace for a given LTL (Linear Temporal Logic) formula.
Lowercase letters denote the atomic propositions.
The output trace should be in lasso form composed of two parts: the prefix part and the cycle part.
Timesteps in the trace should be separated by semicolons, and the cycle part should be enclosed \
in curly braces, preceeded by the keyword "cycle".

Temporal operators:
X: Next operator
U: Until operator

Logical operators:
&: AND operator
|: OR operator
!: NOT operator
The output trace is a symbolic trace, which means that the logical operators are allowed, but not \
temporal operators.

Constants:
0: False
1: True
Note that other numbers are invalid.

Example 1
Formula: X((a & Xa) U XXb)
Trace: 1; 1; 1; b; cycle{{1}}

Example 2
Formula: !c U X(1 U b)
Trace: 1; b; cycle{{1}}

Example 3
Formula: X!X!(b & Xb)
Trace: 1; 1; b; b; cycle{{1}}

Example 4
Formula: !(1 U !c)
Trace: cycle{{c}}

Your Turn
Formula: {formula}
Please generate the corresponding trace. Output the trace only."""

PROP_LISTING = """\
Your task is to generate an assignment that satisfies a given propositional logic formula.
Lowercase letters denote the atomic propositions.
The output is a JSON object representing the assignment.

Logical operators (ordered from highest precedence to lowest):
!: NOT operator
&: AND operator
|: OR operator
xor: Exclusive OR operator
<->: Logical equivalence operator (biconditional)

Constants:
0: False
1: True
Note that other numbers are invalid.

Example 1
Formula: !a | c & (b <-> c)
Assignment: { "a": false }

Example 2
Formula: !(a <-> (!a xor !e))
Assignment: { "a": true, "e": true }

Example 3
Formula: a & (!a <-> !c | d)
Assignment: { "a": true, "c": true, "d": false }

Example 4
Formula: !(a | !(!d | b & d))
Assignment: { "a": false, "d": false }

Your Turn
Formula: {formula}
Please generate an assignment that satisfies this formula. Output the assignment only, in JSON \
format."""

# Which parentheses the listing for propositional logic leaves out: of xor and <-> none.
_BINDING: Mapping[str, int] = {"&": 3, "|": 2, "xor": 1, "<->": 1}


def paper_infix(source: str, semantics: str) -> str:
    """Writes a formula as those of the listings are written.

    Args:
        source: the formula in prefix notation.
        semantics: ``ltl`` or ``prop``.

    Returns:
        The formula in infix notation, e.g. ``X!X!(b & Xb)``.
    """
    return infix(tokenize(source), _BINDING if semantics == "prop" else {}, tight=True)


class PaperLtlDialect(LtlDialect):
    """Traces, as the paper asks for them."""

    def prompt(self, source: str, examples: Sequence[Example]) -> str:
        """See :class:`Dialect`; the examples are always those of the listing."""
        return LTL_LISTING.format(formula=paper_infix(source, "ltl"))


class PaperPropDialect(PropDialect):
    """Assignments, as the paper asks for them: symbols that are left open are left out."""

    strict = False

    def prompt(self, source: str, examples: Sequence[Example]) -> str:
        """See :class:`Dialect`; the examples are always those of the listing."""
        return PROP_LISTING.replace("{formula}", paper_infix(source, "prop"))

    def schema(self, source: str) -> Optional[Dict]:
        symbols: List[str] = formula_symbols(tokenize(source))
        return {
            "type": "object",
            "properties": {symbol: {"type": "boolean"} for symbol in symbols},
            "additionalProperties": False,
        }


# By who worded the prompt, then by the name of the semantics.
PROMPTS: Dict[str, Dict[str, Dialect]] = {
    "ours": DIALECTS,
    "paper": {"prop": PaperPropDialect(), "ltl": PaperLtlDialect()},
}
