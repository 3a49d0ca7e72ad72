"""Files of clauses: DIMACS, and its relatives, which are told from formulas."""

import pytest

from sit_fairseq.domains.formulas.dimacs import (
    is_clauses,
    read_dimacs,
    read_problem,
    split_problems,
)
from sit_fairseq.errors import MalformedFormula


def test_dimacs():
    text = "c comment\np cnf 12 3\n1 -12 0\n3\n0 -1 2 3 0\n"
    assert [*read_dimacs(text).names.values()] == ["x1", "x12", "x3", "x2"]
    assert " ".join(read_dimacs(text).tokens) == "& | p0 ! p1 & p2 | | ! p0 p3 p2"
    assert read_dimacs("p cnf 2 1\n2\n0\n%\n0\n") == (["p0"], {"p0": "x2"})
    assert read_dimacs("p cnf 1 2\n1 0\n0\n") == (["&", "p0", "0"], {"p0": "x1"})  # an empty clause
    assert read_dimacs("p cnf 3 0\n") == (["1"], {})
    reading = read_dimacs("  C indented\n\n  P CNF 2 1\n  +1 -2\n  0\n")
    assert reading.names == {"p0": "x1", "p1": "x2"}
    assert read_dimacs("c a\x0cb\u2028c\np cnf 1 1\n1 0\n") == (["p0"], {"p0": "x1"})
    assert read_dimacs("p\tcnf 2\t1\r\n1\t-2 0\r\n").tokens == ["|", "p0", "!", "p1"]


@pytest.mark.parametrize(
    "text, message",
    [
        ("1 -2 0\n", "line 1 of DIMACS is not 'p cnf VARIABLES CLAUSES'"),
        ("p cnf 1 1\n" + "9" * 5000 + " 0\n", "line 2 of DIMACS: '99.* is no number of a variable"),
        ("p cnf 1 " + "9" * 5000, "line 1 of DIMACS is not"),
        ("p cnf 1 1\nx 0\n", "line 2 of DIMACS: 'x' is no number"),
        ("p cnf 2 1\n1 -3 0\n", "line 2 of DIMACS: -3 is of no variable from 1 to 2"),
        ("c\naag 1 1 0 1 0\n2\n1\n", "the text is AIGER, which is not read"),
        ("* two\n+1 x1 +1 x2 >= 1 ;\n", "the text is OPB, which is not read"),
        ("c nothing\n", "without a line 'p cnf VARIABLES CLAUSES'"),
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
        *("  c indented\n  p cnf 3 1\n  1 -2 0\n", "c no header\n\n1 -2 0\n2 3 0\n"),
        *("c new form\nh 1 -2 0\n4 2 3 0\n", "p inccnf\n1 -2 0\na 2 0\n"),
        *("* #variable= 2 #constraint= 1\n+1 x1 +1 x2 >= 1 ;\n", "+1 x1 +1 ~x2 >= 1 ;\n"),
        *("p edge 4 2\ne 1 2\n", "e 1 0\np qcnf 2 1\n1 2 0\n", "aig 3 2 0 1 1\n"),
        *("asp 1 0 0\n1 0 1 1 0 0\n0\n", ".model x\n.inputs a b\n", ".i 2\n11 1\n"),
        *("#QCIR-G14\nexists(a)\n", "(set-logic QF_UF)\n(check-sat)\n", "MODULE main\n"),
        *("INFO {\n", "; a comment\n(set-logic BV)\n(synth-fun f ((a Bool)) Bool)\n"),
        *("-- one\n-- two\nMODULE main\n", "/* one\ntwo */ never { T0_init:\n"),
        "// shop\nfeatures\n    Shop\n",
        "\\ problem\nMaximize\n obj: x\nSubject To\n c: x <= 1\nEnd\n",
        *("# menu\nconfig NET\n\tbool\n", "targets, factors\nA, B & C\n"),
        *("\\* clock\n---- MODULE Clock ----\n", "// dice\ndtmc\n\nmodule m\n", '["a & b", "c"]'),
        *("property p;\n @(posedge clk) a;\nendproperty\n", "[spec_unit u]\nassume G F a;\nG b;\n"),
        *("# one\nimport sympy\nprint(a & b)\n", "formulas:\n  - a & b\n", ".ver DDDMP-2.0\n"),
        *('"a & b"\n"c"\n', '<?xml version="1.0"?>\n', "vunit v (top) {\n"),
        "c old lines\rp cnf 2 1\r1 2 0\r",
        *("P CNF 3 1\n1 -2 0\n", "p wcnf 2 1 9\n9 1 0\n", "min: 1 x1 ;\n1 x1 1 x2 >= 1 ;\n"),
        *("nnf 3 2 2\nL 1\n", "HOA: v1\n", "% model\nvar bool: x;\n", "id,formula\n1,a & b\n"),
        *("p cnf 3 2\nc of x\ne 1 2 0\n1 3 0\n", '"formula"\n"a & b"\n'),
    ],
)
def test_files_of_clauses_are_one_input(text):
    assert is_clauses(text)


@pytest.mark.parametrize(
    "text",
    [
        *("p until q\n", "p W q\np & 1\n", "c\n", "1\n0\n", "h & a\n", "", "& 1 0\n", "1 * x1\n"),
        *('"x <= 3"\n"y > 2"\nG "x <= 3"\n', "(assert & a)\n# 2\n"),
        *("aag & aig\n", "features -> x\n\n y\n", "max\nx & y\n"),
        *("solve & b;\n", "source U menu\n"),
        *(
            "c & d\n0\n",
            "x1 + x2\n",
            "* a list\n",
            "property & a\n",
            "[] a\nb\n",
            "import\n",
            "never & a\n",
            "module U (b & c)\nG a\n",
            "proctype & a",
            "(assert U b) & c",
            "constraint -> b;\nF b;\n",
        ),
    ],
)
def test_formulas_are_none(text):
    assert not is_clauses(text)


@pytest.mark.parametrize(
    "text, formulas",
    [
        ("a --> b\na <--> b -- c\na ---> b", {1: "a --> b", 2: "a <--> b", 3: "a ---> b"}),
        ("--\n#\n//\n;\n/**/\nG a; -- b\r\nG b;;// c", {6: "G a", 7: "G b"}),
        ("a /* one */ & b\n/* two\nlines */ c", {1: "a   & b", 3: "c"}),
        ("a // x /* y\n!b # z */\nc", {1: "a", 2: "!b", 3: "c"}),
        ('"a // b" & "c /* d" | "e */ # f"', {1: '"a // b" & "c /* d" | "e */ # f"'}),
        ("a & /* two\nlines */ b\nG c /* x\n */\nd", {1: "a &   b", 3: "G c", 5: "d"}),
        ("a /* open\nb # c", {1: "a /* open", 2: "b # c"}),
        ("a ##1 b\na ##[1:2] b\n## title", {1: "a ##1 b", 2: "a ##[1:2] b"}),
        ("a \\/ b\na#b\na--b", {1: "a \\/ b", 2: "a#b", 3: "a--b"}),
        ("1 -2\na", {1: "1 -2\na"}),
    ],
)
def test_the_formulas_of_a_file_without_its_comments(text, formulas):
    assert dict(split_problems(text)) == formulas


@pytest.mark.parametrize("temporal", [False, True])
@pytest.mark.parametrize(
    "text, message",
    [
        ("features:\n  Shop\n  Card\nCard => Search\n", "3 of 4 .* as 'features:' in line 1"),
        ("# x\nThe lamp\n\nNotes.\nIt is on\n", "3 of 3 lines have no operator, .* in line 2"),
        ("e\ny\nS\ne & y\n", "3 of 4 lines have no operator, as 'e' in line 1"),
        ("digraph {\n a -> b\n b -> c\n}\n", "lines are blocks, as 'digraph {' in line 1"),
    ],
)
def test_lines_without_operators_are_no_list(text, message, temporal):
    ((line, whole),) = split_problems(text)
    with pytest.raises(MalformedFormula, match=f"is no list of formulas: .*{message}"):
        read_problem(whole, temporal)


@pytest.mark.parametrize("lines", [["a", "b", "a & b", "i p0 p1"], ["a since b", "AG a", "GFa"]])
def test_a_list_may_have_names_and_what_cannot_be_read(lines):
    assert [formula for _, formula in split_problems("\n".join(lines))] == lines


@pytest.mark.parametrize("temporal", [False, True])
def test_a_formula_over_several_lines_is_read(temporal):
    assert read_problem("a\n&\nb\n&\nc", temporal).tokens == ["&", "&", "p0", "p1", "p2"]
