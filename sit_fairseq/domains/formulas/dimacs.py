"""Files of clauses: DIMACS CNF is read, and files of its relatives are told from formulas."""

import re
from typing import Dict, List, Match, Tuple

from sit_fairseq.domains.formulas.reading import Reading, read_formula
from sit_fairseq.errors import MalformedFormula, excerpt

_HEADER = re.compile(r"\s*p\s+cnf\s+\d{1,18}\s+(\d{1,18})\s*", re.IGNORECASE)
# No line of these kinds is a formula. The headers of WCNF, ICNF and others may stand anywhere.
_ANY_HEADER = re.compile(
    r"^[ \t]*p[ \t]+(?:\w*[cd]nf\b|sat[ex]*\s|\w+[ \t]+\d+[ \t]+\d+\s*$)",
    re.IGNORECASE | re.MULTILINE,
)
_CLAUSE = re.compile(r"(?:h|[+-]?\d+)(?:\s+[+-]?\d+)+")
# Text in quotes, which stays, and comments, which begin with //, or with # or -- after a space.
_COMMENT = re.compile(r'"(?:[^"\\]|\\.)*"?|(//|(?<![^\s;])(?:#|--(?!-*\s*>))).*')
_PSEUDO_BOOLEAN = re.compile(r"\*\s*#|(?:min|max)\s*:|[+-]?\s*\d+\s+~?x\d")


def is_clauses(text: str) -> bool:
    """Whether a text is one problem in DIMACS or a relative of it (WCNF, ICNF, OPB), with or
    without its header, not formulas."""
    lines = [line.strip() for line in text.splitlines()]
    if _ANY_HEADER.search("\n".join(lines)):
        return True
    first = next((line for line in lines if line and line.split()[0] != "c"), "")
    return bool(_CLAUSE.fullmatch(first) or _PSEUDO_BOOLEAN.match(first))


def split_problems(text: str) -> List[Tuple[int, str]]:
    """The formulas of a file with their lines, from 1: one a line, or one in DIMACS.

    Comments, empty lines and a semicolon at the end of a line are left out.
    """
    if is_clauses(text):
        return [(1, text)]
    lines = re.split("\r\n|\r|\n", text)
    formulas = [_COMMENT.sub(_without_comment, line).strip().rstrip("; \t") for line in lines]
    return [(number, formula) for number, formula in enumerate(formulas, start=1) if formula]


def _without_comment(match: Match) -> str:
    return "" if match[1] else match[0]


def read_dimacs(text: str) -> Reading:
    """Reads DIMACS CNF, up to a line of ``%``, as a conjunction of disjunctions over x1, x2, ...

    Raises:
        MalformedFormula: it is no such text; the message names the line.
    """
    names: Dict[str, str] = {}
    clauses: List[List[str]] = [[]]  # the last one has no end yet
    announced = None
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.split()
        if not words or words[0].startswith("c"):
            continue
        if words[0].startswith("%"):
            break
        if announced is None:
            header = _HEADER.fullmatch(line)
            if header is None:
                raise MalformedFormula(
                    f"line {number} of DIMACS is not 'p cnf VARIABLES CLAUSES', and no other kind "
                    "(WCNF, ICNF, OPB) is read"
                )
            announced = int(header[1])
            continue
        for word in words:
            if not re.fullmatch(r"[+-]?\d{1,18}", word):
                raise MalformedFormula(
                    f"line {number} of DIMACS: {excerpt(word)} is no number of a variable"
                )
            literal = int(word)
            if literal:
                name = f"x{abs(literal)}"
                clauses[-1] += ["!"] * (literal < 0) + [names.setdefault(name, f"p{len(names)}")]
            else:
                clauses.append([])
    rest = clauses.pop()
    if announced is None:
        raise MalformedFormula("DIMACS without a line 'p cnf VARIABLES CLAUSES'")
    if rest or len(clauses) != announced:
        raise MalformedFormula(
            f"DIMACS announces {announced} clauses, and {len(clauses)} end with 0"
            + (", but the last one does not" if rest else "")
        )
    joined = []
    for number, clause in enumerate(clauses):
        literals = sum(token != "!" for token in clause)
        joined += ["&"] * (number < len(clauses) - 1) + ["|"] * (literals - 1)
        joined += clause or ["0"]
    return Reading(joined or ["1"], list(names))


def read_problem(text: str, temporal: bool) -> Reading:
    """Reads a formula in infix or prefix notation or, clauses, in DIMACS; raises MalformedFormula."""
    return read_dimacs(text) if is_clauses(text) else read_formula(text, temporal)
