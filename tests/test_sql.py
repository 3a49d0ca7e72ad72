"""examples/sql: what its judge accepts, and what it is trained on."""

from random import Random

import pytest
from command_line import ROOT

from examples.paper.tables import read_yaml
from examples.sql.queries import PATTERN, SPLITS, SqlJudge, draw, read
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.symbols.renaming import random_renamings

QUERY = "find x3 x7 : T4 c2 x3 c9 x7 ; T4 c2 x7 ; x3 < x7"
ANSWER = "select x0 . c2 , x0 . c9 from T4 x0 , T4 x1 where x0 . c9 = x1 . c2 and x0 . c2 < x0 . c9"


@pytest.mark.parametrize(
    "answer, verdict",
    [
        (ANSWER, Verdict.satisfied),
        (ANSWER.replace("x1", "x19"), Verdict.satisfied),
        (ANSWER.replace("x0 . c9 = x1 . c2", "x1 . c2 = x0 . c9"), Verdict.satisfied),
        (ANSWER.replace("select x0 . c2", "select x0 . c9"), Verdict.violated),
        (ANSWER.replace(" and x0 . c2 < x0 . c9", ""), Verdict.violated),
        (ANSWER.replace("x0 . c9 = x1 . c2", "x0 . c9 = x1 . c9"), Verdict.violated),
        (ANSWER.replace("T4 x1", "T5 x1"), Verdict.invalid),
        (ANSWER.replace("x1", "x0"), Verdict.invalid),
        ("drop table T4", Verdict.invalid),
        ("", Verdict.violated),
    ],
)
def test_answers_are_run(answer, verdict):
    assert SqlJudge().verify(QUERY, answer) is verdict


def test_the_text_of_queries_says_all_of_them():
    assert str(read(QUERY)) == QUERY and read(QUERY).sql(["x0", "x1"]) == ANSWER


@pytest.mark.parametrize("split", SPLITS)
def test_queries_and_their_renamings_are_answered(split):
    rng, judge = Random(1), SqlJudge()
    for _ in range(20):
        query, aliases = draw(rng, *SPLITS[split][1:])
        source, target = str(query), query.sql(aliases)
        assert judge.verify(source, target) is Verdict.satisfied
        symbols = PATTERN.symbols(f"{source} {target}".split())
        names = [f"{letter}{number}" for letter in "Tcx" for number in range(30, 60)]
        (renaming,) = random_renamings(symbols, names, 1, rng, PATTERN)
        assert judge.verify(renaming(source), renaming(target)) is Verdict.satisfied
        tables, columns = (
            {s for s in PATTERN.symbols(source.split()) if s[0] == initial} for initial in "Tc"
        )
        for found, (fewest, most) in zip((tables, columns), SPLITS[split][3:]):
            assert fewest <= len(found) <= most


def test_the_sorts_of_the_configuration_are_those_of_the_data():
    found = read_yaml(str(ROOT / "examples/sql/results.yaml"))
    assert PATTERN.text.replace("\\d", "[0-9]").replace("\n", "\\n") in found["overrides"]
    assert len((ROOT / "examples/sql/run.sh").read_text().splitlines()) <= 25
