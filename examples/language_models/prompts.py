"""The prompts of the paper, word for word, and what the answers to them mean.

The two listings are quoted from the appendix "LLM Setup" of Işık and Li, "Names Don't Matter:
Symbol-Invariant Transformer for Open-Vocabulary Learning", ICML 2026, spelling included. What the
appendix does not print is done like this: formulas are written as those of its examples are; double
braces are single ones in the prompt, since its placeholder is one of Python's; the schema of an
assignment has the symbols of the formula, none of which must be there.
"""

import json
import re
from typing import Any, Dict, List, Tuple

from sit_fairseq.domains.formulas.infix import infix
from sit_fairseq.domains.formulas.reading import read_infix_trace
from sit_fairseq.domains.formulas.syntax import formula_symbols

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

LISTINGS = {"ltl": LTL_LISTING.replace("{{", "{").replace("}}", "}"), "prop": PROP_LISTING}

# How tightly the operators bind whose parentheses a listing leaves out.
_BINDING = {"ltl": {}, "prop": {"&": 3, "|": 2, "xor": 1, "<->": 1}}

# A whole answer in a Markdown code block, which some models cannot do without.
_CODE_BLOCK = re.compile(r"```\w*\n(.*)\n?```", re.DOTALL)


def prompt(source: str, semantics: str) -> str:
    """What a model is asked.

    Args:
        source: a formula in prefix notation.
        semantics: ``ltl`` or ``prop``.

    Returns:
        The listing with the formula as those of its examples are written, ``X!X!(b & Xb)``.
    """
    formula = infix(source.split(), _BINDING[semantics], tight=True)
    return LISTINGS[semantics].replace("{formula}", formula)


def answer_format(source: str, semantics: str) -> Dict[str, Any]:
    """The part of a request that prescribes the form of an answer, if there is one."""
    if semantics == "ltl":
        return {}
    schema = {
        "type": "object",
        "properties": {name: {"type": "boolean"} for name in formula_symbols(source.split())},
        "additionalProperties": False,
    }
    named = {"name": "answer", "strict": False, "schema": schema}
    return {"response_format": {"type": "json_schema", "json_schema": named}}


def read_answer(content: str, semantics: str) -> str:
    """Reads what a model wrote.

    Args:
        content: a trace, or an assignment in JSON, possibly in a Markdown code block.
        semantics: ``ltl`` or ``prop``.

    Returns:
        The answer in the notation of the data sets.

    Raises:
        ValueError: it is none.
    """
    block = _CODE_BLOCK.fullmatch(content.strip())
    content = block[1] if block else content.strip()
    if semantics == "ltl":
        return " ".join(read_infix_trace(content).tokens)
    try:
        # As pairs, since a name that comes twice is a contradiction and not an update.
        found = json.loads(content, object_pairs_hook=_Pairs)
    except RecursionError as error:
        raise ValueError("not JSON") from error
    if not isinstance(found, _Pairs):
        raise ValueError("not a JSON object")
    tokens: List[str] = []
    for name, value in found:
        if name.split() != [name] or not (value is None or isinstance(value, bool)):
            raise ValueError("not an object from names to true, false and null")
        tokens += [] if value is None else [name, str(int(value))]
    return " ".join(tokens)


class _Pairs(List[Tuple[str, Any]]):
    """A JSON object as the list of its pairs, to be told from a JSON array."""
