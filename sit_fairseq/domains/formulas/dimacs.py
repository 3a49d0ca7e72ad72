"""Files of problems: formulas, one a line, or clauses; files of other formats are told from
these."""

import re
from contextlib import suppress
from typing import Dict, List, Match, Optional, Sequence, Tuple

from sit_fairseq.domains.formulas.reading import WORDS, has_operator, read_formula
from sit_fairseq.domains.solver import Reading
from sit_fairseq.errors import MalformedFormula, excerpt

_HEADER = re.compile(r"\s*p\s+cnf\s+(\d{1,18})\s+(\d{1,18})\s*", re.IGNORECASE)
# No line of these kinds is a formula. The headers of WCNF, ICNF and others may stand anywhere.
_ANY_HEADER = re.compile(
    r"^[ \t]*p[ \t]+(?:\w*[cd]nf\b|sat[ex]*\s|\w+[ \t]+\d+[ \t]+\d+\s*$)",
    re.IGNORECASE | re.MULTILINE,
)
_CLAUSE = re.compile(r"(?:h|[+-]?\d+)(?:\s+[+-]?\d+)+")
# How files of other formats begin, behind their comments.
_FORMATS = {
    "AIGER": r"a[ai]g(?:\s+\d+){5}",
    "ASPIF": r"asp(?:\s+\d+){3}",
    "BLIF or PLA": r"\.(?:model|inputs|i\s+\d)",
    "BoolNet": r"targets\s*,\s*factors",
    "CSV": r'(?:"[^"\n]*"(?:\n|\Z)){2,}\Z|(?:(?:\w+|"[^"\n]*")[,;])+(?:\w+|"[^"\n]*")\n',
    "DDDMP": r"\.(?:ver|mode)\s",
    "HOA": r"HOA:\s*v\d",
    "HTML or XML": r"<[?!a-zA-Z]",
    "INI, TOML, Slugs or Acacia": r"\[\w+(?:[ \t]+\w+)?\][ \t]*\n",
    "JSON": r'\{\s*[}"]|\[\s*["{]|[\[{]\s*\n',
    "Kconfig": r'(?:mainmenu|menu|source)\s+"|(?:menu)?config\s+\w+\s*\n|choice[ \t]*\n[ \t]+\w',
    "LP": r"(?i:(?:max|min)\w*\b[\s\S]*?\n[ \t]*(?:subject to|such that|st|s\.t\.)[ \t:]*\n)",
    "MiniZinc": r'(?:var|par)\s+[\w.]+\s*:|array\s*\[|include\s+"|(?:constraint\s|solve\s+\w).*;',
    "NNF": r"nnf(?:\s+\d+){3}",
    "OPB": r"\*\s*#|(?:min|max|soft)\s*:|(?:\[\d+\]\s*)?[+-]?\s*\d+\s+~?x\d",
    "PDDL": r"\(define\s*\(",
    "PRISM": r"(?:dtmc|ctmc|mdp|pta)[ \t]*\n[\s\S]*\bmodule\b|const\s+(?:int|double|bool)\b",
    "Promela": r"(?:never|init|ltl(?:\s+\w+)?)\s*\{|(?:active\s+)?proctype\s|mtype\s*[={:]|#define\s",
    "PSL": r"(?:vunit|vprop|vmode)\s+\w+\s*[({]",
    "Python": r"(?:import\s+\w+|from\s+\S+\s+import\b.*|def\s+\w+\(.*|class\s+\w+[:(].*)\n",
    "QCIR": r"#QCIR",
    "QDIMACS": r"p[ \t]+cnf[ \t\d]+\n(?:c.*\n)*\s*[ae](?:\s+\d+)+\n",
    "SMT-LIB or SyGuS": r"\((?:set-(?:logic|info|option)|declare-|define-|synth-|assert\s+[\w(])",
    "SMV": r"MODULE\s+\w+",
    "SVA": r"(?:property|sequence)\s+\w+\s*[;(]|(?:\w+:\s*)?(?:assert|assume|cover)\s+property\b.*\n",
    "TLA+": r"-{4,}\s*MODULE\b",
    "TLSF": r"INFO\s*\{",
    "TPTP": r"(?:fof|cnf|tff|thf|include)\s*\(",
    "UVL": r"namespace\s+\S+\s*\n|(?:imports|features)\s*\n[ \t]+\S",
    "Verilog": r"module\s+\w+\s*[(#;]",
    "YAML": r"---[ \t]*\n|\w+:[ \t]*\n[ \t]*-\s",
}
_BEGINNING = re.compile("|".join(f"({beginning})" for beginning in _FORMATS.values()))
# White space or a comment of some format.
_SKIPPED = re.compile(r"\s+|(?:(?:[cC*](?!\S)|[#%;\\]|--|//).*|/\*[\s\S]*?\*/|\(\*[\s\S]*?\*\))\s*")
# Text in quotes, which stays, and comments: /* */, // and, after a space, # and --.
_COMMENT = re.compile(
    r'"(?:[^"\\\n]|\\.)*"?|\\/|'
    r"(/\*[\s\S]*?(?:\*/|\Z)|//.*|(?<![^\s;])(?:#(?!#\s*[\d\[])|--(?!-*\s*>)).*)"
)


def is_clauses(text: str) -> bool:
    """Whether a text is one problem in DIMACS, with or without its header, or in another format
    that people have for problems, not formulas."""
    if _ANY_HEADER.search(re.sub("\r\n?", "\n", text)):
        return True
    name, place = _beginning(text)
    return name is not None or bool(_CLAUSE.fullmatch(text[place:].partition("\n")[0].strip()))


def _beginning(text: str) -> Tuple[Optional[str], int]:
    """The format of a text, None for formulas and DIMACS; and where its first comments end."""
    place = 0
    while True:
        found = _BEGINNING.match(text, place)
        skipped = _SKIPPED.match(text, place)
        if found is not None and not _is_formula(text[place:].partition("\n")[0]):
            return list(_FORMATS)[found.lastindex - 1], place
        if skipped is None:
            return None, place
        place = skipped.end()


def _is_formula(line: str) -> bool:
    """Whether a line is a formula with an operator, in which the word of a format is a name."""
    line = _COMMENT.sub(_without_comment, line).strip().rstrip("; \t\r")
    for temporal in (True, False):
        with suppress(MalformedFormula):
            return len(read_formula(line, temporal).tokens) > 1
    return False


def split_problems(text: str) -> List[Tuple[int, str]]:
    """The formulas of a file with their lines, from 1: one a line; or the whole text, if it is in
    DIMACS or no list of formulas. Comments, empty lines and a semicolon at the end of a line are
    left out."""
    text = re.sub("\r\n?", "\n", text)
    if is_clauses(text):
        return [(1, text)]
    formulas = _lines(text)
    return [(1, text)] if _no_list(formulas) else formulas


def _lines(text: str) -> List[Tuple[int, str]]:
    """The formulas of a text with their lines; a comment over several lines ends none."""
    found: List[Tuple[int, str]] = []
    number = 1
    for line in _COMMENT.sub(_without_comment, text).split("\n"):
        formula = line.strip().rstrip("; \t\r")
        if formula:
            begin = line[: len(line) - len(line.lstrip())]
            found.append((number + begin.count("\r"), formula.replace("\r", "")))
        number += 1 + line.count("\r")
    return found


def _no_list(formulas: Sequence[Tuple[int, str]]) -> Optional[str]:
    """Says why the lines of a text are no formulas; None if they may be."""
    blocks = [one for one in formulas if one[1][-1] in "{[" or one[1][0] in "}]"]
    bare = [one for one in formulas if one[1].lower() not in WORDS and not has_operator(one[1])]
    if len(blocks) >= 2:
        (number, line), why = blocks[0], "its lines are blocks"
    elif len(bare) >= 3 and 2 * len(bare) > len(formulas):
        number, line = bare[0]
        why = f"{len(bare)} of {len(formulas)} lines have no operator"
    else:
        return None
    found = f"{why}, as {excerpt(line)} in line {number}"
    return f"the text is no list of formulas: {found}; write one formula a line"


def _without_comment(match: Match) -> str:
    """A space, and a carriage return for each line end of a comment; one without an end stays, to be
    refused."""
    comment = match[1] or ""
    stays = not comment or comment[:2] == "/*" and not comment.endswith("*/", 2)
    return match[0] if stays else " " + "\r" * comment.count("\n")


def read_dimacs(text: str) -> Reading:
    """Reads DIMACS CNF, up to a line of ``%``, as a conjunction of disjunctions over x1, x2, ...; a
    MalformedFormula names the line that is none."""
    other, _ = _beginning(text)
    if other is not None:
        raise MalformedFormula(f"the text is {other}, which is not read: write formulas or DIMACS")
    names: Dict[str, str] = {}
    clauses: List[List[str]] = [[]]  # the last one has no end yet
    announced = None
    for number, line in enumerate(re.sub("\r\n?", "\n", text).split("\n"), start=1):
        words, place = line.split(), f"line {number} of DIMACS"
        if not words or words[0][0] in "cC":
            continue
        if words[0].startswith("%"):
            break
        if announced is None:
            header = _HEADER.fullmatch(line)
            if header is None:
                others = "and no other kind (WCNF, ICNF, QDIMACS) is read"
                raise MalformedFormula(f"{place} is not 'p cnf VARIABLES CLAUSES', {others}")
            variables, announced = map(int, header.groups())
            continue
        for word in words:
            if not re.fullmatch(r"[+-]?\d{1,18}", word):
                raise MalformedFormula(f"{place}: {excerpt(word)} is no number of a variable")
            literal = int(word)
            if abs(literal) > variables:
                raise MalformedFormula(f"{place}: {word} is of no variable from 1 to {variables}")
            if literal:
                name = names.setdefault(f"x{abs(literal)}", f"p{len(names)}")
                clauses[-1] += ["!"] * (literal < 0) + [name]
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
    for left, clause in zip(reversed(range(len(clauses))), clauses):
        literals = sum(token != "!" for token in clause)
        joined += [*["&"] * min(left, 1), *["|"] * (literals - 1), *(clause or ["0"])]
    return Reading.numbered(joined or ["1"], list(names))


def read_problem(text: str, temporal: bool) -> Reading:
    """Reads a formula in infix or prefix notation or, clauses, in DIMACS; raises
    MalformedFormula."""
    if is_clauses(text):
        return read_dimacs(text)
    try:
        return read_formula(text, temporal)
    except MalformedFormula:
        reason = _no_list(_lines(text))
        if reason is None:
            raise
        raise MalformedFormula(reason)
