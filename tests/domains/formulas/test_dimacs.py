"""Files of clauses: DIMACS, and its relatives, which are told from formulas."""

import pytest

from sit_fairseq.domains.formulas.dimacs import is_clauses, read_dimacs
from sit_fairseq.errors import MalformedFormula


def test_dimacs():
    text = "c comment\np cnf 12 3\n1 -12 0\n3\n0 -1 2 3 0\n"
    assert read_dimacs(text).names == ["x1", "x12", "x3", "x2"]
    assert " ".join(read_dimacs(text).tokens) == "& | p0 ! p1 & p2 | | ! p0 p3 p2"
    assert read_dimacs("p cnf 2 1\n2\n0\n%\n0\n") == (["p0"], ["x2"])
    assert read_dimacs("p cnf 1 2\n1 0\n0\n") == (["&", "p0", "0"], ["x1"])  # an empty clause
    assert read_dimacs("p cnf 3 0\n") == (["1"], [])
    assert read_dimacs("  c indented\n\n  P CNF 2 1\n  +1 -2\n  0\n").names == ["x1", "x2"]


@pytest.mark.parametrize(
    "text, message",
    [
        ("1 -2 0\n", "line 1 of DIMACS is not 'p cnf VARIABLES CLAUSES'"),
        ("p cnf 1 1\n" + "9" * 5000 + " 0\n", "line 2 of DIMACS: '99.* is no number of a variable"),
        ("p cnf 1 " + "9" * 5000, "line 1 of DIMACS is not"),
        ("p cnf 1 1\n1 0\np cnf 1 1\n", "line 3 of DIMACS: 'p' is no number"),
        ("p cnf 1 1\nx 0\n", "line 2 of DIMACS: 'x' is no number"),
        ("c nothing\n", "without a line 'p cnf VARIABLES CLAUSES'"),
        ("c 1\np wcnf 1 1 2\n2 1 0\n", "line 2 of DIMACS is not 'p cnf VARIABLES CLAUSES'"),
        ("p cnf 2 2\n1 0\n", "announces 2 clauses, and 1 end with 0$"),
        ("p cnf 2 2\n1 0\n-2 1", "and 1 end with 0, but the last one does not"),
    ],
)
def test_faults_of_dimacs_are_named(text, message):
    with pytest.raises(MalformedFormula, match=message):
        read_dimacs(text)


@pytest.mark.parametrize(
    "text",
    [
        "  c indented\n  p cnf 3 1\n  1 -2 0\n",
        "P CNF 3 1\n1 -2 0\n",
        "c no header\n\n1 -2 0\n2 3 0\n",
        "1 -2\n3 0\n",
        "p wcnf 2 1 9\n9 1 0\n",
        "c new form\nh 1 -2 0\n4 2 3 0\n",
        "p inccnf\n1 -2 0\na 2 0\n",
        "* #variable= 2 #constraint= 1\n+1 x1 +1 x2 >= 1 ;\n",
        "min: 1 x1 ;\n1 x1 1 x2 >= 1 ;\n",
        "+1 x1 +1 ~x2 >= 1 ;\n",
        "p edge 4 2\ne 1 2\n",
        "e 1 0\np qcnf 2 1\n1 2 0\n",
        "c old lines\rp cnf 2 1\r1 2 0\r",
    ],
)
def test_files_of_clauses_are_one_input(text):
    assert is_clauses(text)


@pytest.mark.parametrize(
    "text",
    [
        "p until q\n",
        "p W q\np & 1\n",
        "c\n",
        "c & d\n0\n",
        "1\n0\n",
        "h & a\n",
        "",
        "& 1 0\n",
        "x1 + x2\n",
    ],
)
def test_formulas_are_none(text):
    assert not is_clauses(text)
