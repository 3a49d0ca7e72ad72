"""Files of problems: formulas, one a line, or clauses; files of other formats are told from
these."""

import re
from typing import Dict, Iterable, List, Match, Optional, Tuple

from sit_fairseq.domains.formulas.reading import Reading, read_formula
from sit_fairseq.errors import MalformedFormula, excerpt

_HEADER = re.compile(r"\s*p\s+cnf\s+(\d{1,18})\s+(\d{1,18})\s*", re.IGNORECASE)
# No line of these kinds is a formula. The headers of WCNF, ICNF and others may stand anywhere.
_ANY_HEADER = re.compile(
    r"^[ \t]*p[ \t]+(?:\w*[cd]nf\b|sat[ex]*\s|\w+[ \t]+\d+[ \t]+\d+\s*$)",
    re.IGNORECASE | re.MULTILINE,
)
_CLAUSE = re.compile(r"(?:h|[+-]?\d+)(?:\s+[+-]?\d+)+")
_PSEUDO_BOOLEAN = r"\*\s*#|(?:min|max|soft)\s*:|(?:\[\d+\]\s*)?[+-]?\s*\d+\s+~?x\d"
# How files begin that hold a circuit, an automaton or a program, by their format.
_FORMATS = {
    "OPB": re.compile(_PSEUDO_BOOLEAN),
    "AIGER": re.compile(r"a[ai]g(?:\s+\d+){5}"),
    "NNF": re.compile(r"nnf(?:\s+\d+){3}"),
    "ASPIF": re.compile(r"asp(?:\s+\d+){3}"),
    "BLIF or PLA": re.compile(r"\.(?:model|inputs|i\s+\d)"),
    "QCIR": re.compile("#QCIR"),
    "SMT-LIB": re.compile(r"\((?:set-(?:logic|info|option)|declare-|define-|assert\s+[\w(])"),
    "HOA": re.compile(r"HOA:\s*v\d"),
    "SMV": re.compile(r"MODULE\s+\w+"),
    "TLSF": re.compile(r"INFO\s*\{"),
}
# Text in quotes, which stays, and comments: /* */, // and, after a space, # and --.
_COMMENT = re.compile(
    r'"(?:[^"\\\n]|\\.)*"?|\\/|'
    r"(/\*[\s\S]*?(?:\*/|\Z)|//.*|(?<![^\s;])(?:#(?!#\s*[\d\[])|--(?!-*\s*>)).*)"
)


def is_clauses(text: str) -> bool:
    """Whether a text is one problem in DIMACS, with or without its header, or in another format
    that people have for problems, not formulas."""
    lines = [line.strip() for line in text.splitlines()]
    if _ANY_HEADER.search("\n".join(lines)):
        return True
    first = _first(lines)
    return bool(_CLAUSE.fullmatch(first) or _format(first))


def _first(lines: Iterable[str]) -> str:
    """The first line that is no comment of such files."""
    words = ((line, line.split()[0]) for line in lines if line.strip())
    kept = (line for line, word in words if word not in "cC*" or line.lstrip("* ")[:1] == "#")
    return next(kept, "").strip()


def _format(line: str) -> Optional[str]:
    """The format of a file that begins with a line; None for formulas and DIMACS."""
    return next((name for name, start in _FORMATS.items() if start.match(line)), None)


def split_problems(text: str) -> List[Tuple[int, str]]:
    """The formulas of a file with their lines, from 1: one a line, or one in DIMACS. Comments, empty
    lines and a semicolon at the end of a line are left out."""
    if is_clauses(text):
        return [(1, text)]
    lines = _COMMENT.sub(_without_comment, re.sub("\r\n?", "\n", text)).split("\n")
    formulas = [line.strip().rstrip("; \t") for line in lines]
    return [(number, formula) for number, formula in enumerate(formulas, start=1) if formula]


def _without_comment(match: Match) -> str:
    """A space and the line ends of a comment, so that what follows it keeps its line; one without
    an end stays, to be refused."""
    comment = match[1] or ""
    stays = not comment or comment[:2] == "/*" and not comment.endswith("*/", 2)
    return match[0] if stays else " " + "\n" * comment.count("\n")


def read_dimacs(text: str) -> Reading:
    """Reads DIMACS CNF, up to a line of ``%``, as a conjunction of disjunctions over x1, x2, ...; a
    MalformedFormula names the line that is none."""
    other = _format(_first(text.splitlines()))
    if other is not None:
        raise MalformedFormula(f"the text is {other}, which is not read: write formulas or DIMACS")
    names: Dict[str, str] = {}
    clauses: List[List[str]] = [[]]  # the last one has no end yet
    announced = None
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.split()
        if not words or words[0][0] in "cC":
            continue
        if words[0].startswith("%"):
            break
        if announced is None:
            header = _HEADER.fullmatch(line)
            if header is None:
                raise MalformedFormula(
                    f"line {number} of DIMACS is not 'p cnf VARIABLES CLAUSES', and no other kind "
                    "(WCNF, ICNF, QDIMACS) is read"
                )
            variables, announced = map(int, header.groups())
            continue
        for word in words:
            if not re.fullmatch(r"[+-]?\d{1,18}", word):
                what = f"{excerpt(word)} is no number of a variable"
                raise MalformedFormula(f"line {number} of DIMACS: {what}")
            literal = int(word)
            if abs(literal) > variables:
                what = f"{word} is of no variable from 1 to {variables}"
                raise MalformedFormula(f"line {number} of DIMACS: {what}")
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
    """Reads a formula in infix or prefix notation or, clauses, in DIMACS; raises
    MalformedFormula."""
    return read_dimacs(text) if is_clauses(text) else read_formula(text, temporal)
