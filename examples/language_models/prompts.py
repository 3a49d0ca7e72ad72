"""The prompts of the paper, word for word, and what the answers to them mean.

    python examples/language_models/prompts.py ltl data/test > prompts.jsonl
    python examples/language_models/prompts.py ltl --answers contents.jsonl > answers.jsonl
    sit evaluate ltl data/test --generated answers.jsonl --result ltl.json

The first command prints a line for each formula of data/test.src: the formula as ``source``, and
``messages`` as chat completions take them. Lines of ``prop`` have the ``response_format``, too. Ask
any model, and write a line ``{"source": …, "content": …}`` for each answer. The second command turns
these into the notation of the data; an answer that cannot be read counts as invalid.

The two listings are quoted from the appendix "LLM Setup" of Işık and Li, "Names Don't Matter:
Symbol-Invariant Transformer for Open-Vocabulary Learning", ICML 2026, spelling included. What the
appendix does not print is done like this: formulas are written as those of its examples are; double
braces are single ones in the prompt, since its placeholder is one of Python's; the schema of an
assignment has the symbols of the formula, none of which must be there.
"""

import argparse
import json
import math
import re
import sys
from typing import Any, Dict, Iterator, List, Mapping, Tuple

from sit_fairseq.domains.formulas.infix import quoted
from sit_fairseq.domains.formulas.reading import read_formula
from sit_fairseq.domains.formulas.syntax import CONSTANTS, Tree, formula_symbols, parse
from sit_fairseq.domains.ltl.traces import parse_trace
from sit_fairseq.errors import UserError
from sit_fairseq.storage.files import read_sentences

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
    """A question to a model.

    Args:
        source: a formula in prefix notation.
        semantics: ``ltl`` or ``prop``.

    Returns:
        The listing with the formula as those of its examples are written, ``X!X!(b & Xb)``.
    """
    formula = _infix(parse(source.split()), _BINDING[semantics])
    return LISTINGS[semantics].replace("{formula}", formula)


def _infix(tree: Tree, binding: Mapping[str, int]) -> str:
    """A formula as the listings have it, without the parentheses that ``binding``, how tightly
    operators bind, makes needless."""
    if isinstance(tree, str):
        return tree if tree in CONSTANTS else quoted(tree)
    operator, *operands = tree
    limit = binding.get(operator, math.inf)
    texts = []
    for operand in operands:
        binary = isinstance(operand, tuple) and len(operand) == 3
        bare = not binary or binding.get(operand[0], -math.inf) > limit
        texts.append(_infix(operand, binding) if bare else f"({_infix(operand, binding)})")
    return f" {operator} ".join(texts) if texts[1:] else operator + texts[0]


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
        return " ".join(_trace(content))
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


def _trace(text: str) -> List[str]:
    """The tokens of a trace as the listing has it, ``a; a & !b; cycle{b}``."""
    match = re.fullmatch(r"(?:([^{}]*);)?\s*cycle\s*\{([^{}]*)\}\s*", text)
    if match is None:
        raise ValueError("not steps and then a cycle, each between semicolons")
    prefix, cycle = match.groups()
    tokens = [t for step in prefix.split(";") for t in (*_step(step), ";")] if prefix else []
    cycle_tokens = [t for step in cycle.split(";") for t in (";", *_step(step))]
    trace = [*tokens, "{", *cycle_tokens[1:], "}"]
    parse_trace(trace)
    return trace


def _step(text: str) -> List[str]:
    """The tokens of a formula in infix notation, over the names that it has."""
    read_formula(text, temporal=False)  # "a) & (b" is none, though "(a) & (b)" is
    tokens, names = read_formula(f"({text})", temporal=False)  # which prefix notation never has
    if any(name.split() != [name] for name in names.values()):
        raise ValueError("the name of a symbol is one word")
    return [names.get(token, token) for token in tokens]


class _Pairs(List[Tuple[str, Any]]):
    """A JSON object as the list of its pairs, to be told from a JSON array."""


def requests(sources: List[str], semantics: str) -> Iterator[Dict[str, Any]]:
    """The questions about each formula, once."""
    for source in dict.fromkeys(sources):
        messages = [{"role": "user", "content": prompt(source, semantics)}]
        yield {"source": source, "messages": messages, **answer_format(source, semantics)}


def answers(path: str, semantics: str) -> Iterator[Dict[str, str]]:
    """The answers of a file of JSON lines, read.

    Raises:
        UserError: a line has no formula with what a model wrote.
    """
    for number, line in enumerate(read_sentences(path), start=1):
        try:
            entry = json.loads(line)
            source, content = entry["source"] + "", entry["content"] + ""
        except (ValueError, LookupError, TypeError, RecursionError):
            raise UserError(f"line {number} of {path} has no source with a content")
        try:
            answer = read_answer(content, semantics)
        except (ValueError, RecursionError):
            answer = f"unreadable ? {number}"  # invalid for every judge, and equal to no other
        yield {"source": source, "answer": answer}


def main() -> None:
    """Reads the command line and does what it says."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("semantics", choices=list(LISTINGS))
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("prefix", metavar="PREFIX", nargs="?", help="formulas in PREFIX.src")
    what.add_argument("--answers", metavar="FILE.jsonl", help="what a model wrote")
    args = parser.parse_args()
    lines = (
        answers(args.answers, args.semantics)
        if args.answers
        else requests(read_sentences(f"{args.prefix}.src"), args.semantics)
    )
    for line in lines:
        print(json.dumps(line))


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        sys.exit(str(error))
