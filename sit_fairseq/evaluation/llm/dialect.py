"""What a language model is asked, and what its answers mean (appendix "LLM Setup").

As in the paper, formulas are in infix notation, four examples show what is wanted, and
assignments are JSON objects that a schema prescribes. What differs from its listings, which
are in ``paper_prompts.py``:

* the wording is our own, and all operators of the notation are explained, whether or not
  the data have them;
* nested binary operators are always in parentheses, so that the answer does not hang on
  which of them binds tighter; the paper leaves out what precedence allows;
* the schema names the symbols of the formula and demands all of them, ``null`` for those
  left open, since the strict mode of OpenAI has no optional ones. The paper's examples
  leave them out, its schema is not published.
"""

import json
import re
from abc import ABC, abstractmethod
from contextlib import suppress
from typing import Dict, Iterable, List, NamedTuple, Optional, Sequence

from sit_fairseq.logic.infix import infix
from sit_fairseq.logic.ltl import MalformedTrace, parse_trace
from sit_fairseq.logic.reading import read_infix_trace
from sit_fairseq.logic.syntax import formula_symbols, tokenize

# A whole answer in a Markdown code block, which some models cannot do without.
_CODE_BLOCK = re.compile(r"```\w*\n(.*)\n?```", re.DOTALL)

_BOOLEAN_OPERATORS = """\
!: not
&: and
xor: exclusive or
|: or
<->: is equivalent to
->: implies"""

_CONSTANTS = """\
Constants:
0: false
1: true
There are no other numbers."""

_LTL_INSTRUCTIONS = f"""\
Find a trace that satisfies a formula of linear temporal logic (LTL).
Words that begin with a small letter, and words in double quotes, are atomic propositions.

Boolean operators, the one that binds tightest first (of two arrows the one on the right):
{_BOOLEAN_OPERATORS}

Temporal operators:
X: at the next step
F: at this step or a later one
G: at this step and all later ones
U: until; the right side holds at some step, and the left side at all steps before it
W: weak until; as U, or the left side holds for ever
R: release; the right side holds for ever, or up to and including a step where both hold
M: strong release; the right side holds up to and including a step where both hold

{_CONSTANTS}

A trace has a prefix, which happens once, and a cycle, which then repeats for ever. Each \
step of the prefix ends with a semicolon. The cycle is the word "cycle" and its steps in \
braces, with semicolons between them.
Each step is a formula that says what is known about it. It may have Boolean operators and \
constants but no temporal operators; 1 says that nothing is known. The formula must be true \
whatever the trace leaves open, and no step may contradict itself."""

_PROP_INSTRUCTIONS = f"""\
Find an assignment that satisfies a formula of propositional logic.
Words that begin with a small letter, and words in double quotes, are atomic propositions.

Operators:
{_BOOLEAN_OPERATORS}

{_CONSTANTS}

The assignment is a JSON object that gives each atomic proposition of the formula true, \
false, or null if it is left open. The formula must be true whatever is left open."""


class UnreadableAnswer(ValueError):
    """What a language model wrote is not an answer; the message says why."""


class Example(NamedTuple):
    """A problem with an answer, in the notation of the data sets."""

    source: str
    target: str


class Dialect(ABC):
    """How the problems of one semantics, and the answers to them, are written for a model.

    Attributes:
        instructions: the beginning of every prompt.
        label: what an answer is called in a prompt.
        request: the end of every prompt.
        examples: the four of the paper.
        strict: whether a server must keep to the schema, in which all symbols are then required.
    """

    instructions: str
    label: str
    request: str
    examples: Sequence[Example]
    strict = True

    def prompt(self, source: str, examples: Sequence[Example]) -> str:
        """The text that a model is given.

        Args:
            source: a formula in prefix notation.
            examples: what is wanted, shown.

        Returns:
            The prompt.
        """
        parts = [self.instructions]
        for number, example in enumerate(examples, start=1):
            parts.append(
                f"Example {number}\nFormula: {infix(tokenize(example.source))}\n"
                f"{self.label}: {self.show(example)}"
            )
        parts.append(f"Your turn\nFormula: {infix(tokenize(source))}\n{self.request}")
        return "\n\n".join(parts)

    def read(self, content: str) -> List[str]:
        """Reads what a model wrote.

        Args:
            content: its answer, possibly in a Markdown code block.

        Returns:
            The answer in the notation of the data sets.

        Raises:
            UnreadableAnswer: there is no answer in it.
        """
        content = content.strip()
        block = _CODE_BLOCK.fullmatch(content)
        return self.read_bare(block.group(1) if block else content)

    @abstractmethod
    def show(self, example: Example) -> str:
        """Writes the answer of an example as a model shall write its own.

        Raises:
            ValueError: the answer is none.
        """

    @abstractmethod
    def read_bare(self, content: str) -> List[str]:
        """Reads an answer with nothing around it; see :meth:`read`."""

    @abstractmethod
    def schema(self, source: str) -> Optional[Dict]:
        """The JSON schema of an answer to a problem; None if answers are plain text."""


class LtlDialect(Dialect):
    """Traces, as text."""

    instructions = _LTL_INSTRUCTIONS
    label = "Trace"
    request = "Find a trace that satisfies this formula. Write the trace and nothing else."
    examples = (
        Example("X U & a X a X X b", "1 ; 1 ; 1 ; b ; { 1 }"),
        Example("U ! c X U 1 b", "1 ; b ; { 1 }"),
        Example("X ! X ! & b X b", "1 ; 1 ; b ; b ; { 1 }"),
        Example("! U 1 ! c", "{ c }"),
    )

    def show(self, example: Example) -> str:
        return parse_trace(tokenize(example.target)).infix()

    def read_bare(self, content: str) -> List[str]:
        try:
            return read_infix_trace(content).tokens
        except MalformedTrace as error:
            raise UnreadableAnswer(str(error))

    def schema(self, source: str) -> Optional[Dict]:
        return None


class PropDialect(Dialect):
    """Assignments, as JSON objects from names to true, false or null."""

    instructions = _PROP_INSTRUCTIONS
    label = "Assignment"
    request = (
        "Find an assignment that satisfies this formula. Write the JSON object and nothing else."
    )
    examples = (
        Example("| ! a & c <-> b c", "a 0"),
        Example("! <-> a xor ! a ! e", "a 1 e 1"),
        Example("& a <-> ! a | ! c d", "a 1 c 1 d 0"),
        Example("! | a ! | ! d & b d", "a 0 d 0"),
    )

    def show(self, example: Example) -> str:
        symbols, literals = formula_symbols(tokenize(example.source)), tokenize(example.target)
        assignment = dict(zip(literals[::2], literals[1::2]))
        if len(literals) != 2 * len(assignment) or not (
            set(assignment) <= set(symbols) and set(assignment.values()) <= {"0", "1"}
        ):
            raise ValueError("not an assignment to symbols of the formula")
        values = {"0": False, "1": True, None: None}
        shown = {symbol: values[assignment.get(symbol)] for symbol in symbols}
        return json.dumps(shown, ensure_ascii=False)

    def read_bare(self, content: str) -> List[str]:
        try:
            # As pairs, since a name that comes twice is a contradiction and not an update.
            pairs = json.loads(content, object_pairs_hook=_Pairs)
        except (ValueError, RecursionError) as error:
            raise UnreadableAnswer(f"not JSON: {error}")
        if not isinstance(pairs, _Pairs):
            raise UnreadableAnswer("not a JSON object")
        tokens: List[str] = []
        for name, value in pairs:
            if tokenize(name) != [name] or not (value is None or isinstance(value, bool)):
                raise UnreadableAnswer("not an object from names to true, false and null")
            if value is not None:
                tokens += [name, str(int(value))]
        return tokens

    def schema(self, source: str) -> Optional[Dict]:
        symbols = formula_symbols(tokenize(source))
        return {
            "type": "object",
            "properties": {symbol: {"type": ["boolean", "null"]} for symbol in symbols},
            "required": symbols,
            "additionalProperties": False,
        }


class _Pairs(list):
    """A JSON object as the list of its pairs, to be told from a JSON array."""


# By the name of the semantics, as for judges.
DIALECTS: Dict[str, Dialect] = {"prop": PropDialect(), "ltl": LtlDialect()}


def readable(contents: Iterable[str], dialects: Sequence[Dialect]) -> List[str]:
    """Reads what models wrote.

    Args:
        contents: what they wrote.
        dialects: how it may be written; the first that can read it does.

    Returns:
        The answers in the notation of the data; where there is none, a text that is invalid for
        every judge and equals no other.
    """
    answers = []
    for number, content in enumerate(contents):
        answer = f"unreadable ? {number}"
        for dialect in dialects:
            with suppress(UnreadableAnswer):
                answer = " ".join(dialect.read(content))
                break
        answers.append(answer)
    return answers
