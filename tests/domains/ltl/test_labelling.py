"""Traces of formulas."""

from conftest import needs_spot

from sit_fairseq.datasets.labelling import Label
from sit_fairseq.domains.ltl import recipe
from sit_fairseq.domains.ltl.recipe import SpotLabeller

pytestmark = needs_spot


def test_labeller_asks_spot_where_depth_first_finds_nothing(monkeypatch):
    formula = "! U a b"
    spots, depth_first = Label("{ & a ! b }"), Label("{ ! b }")
    assert SpotLabeller()(formula) == spots
    assert SpotLabeller(depth_first=True)(formula) == depth_first
    monkeypatch.setattr(recipe, "depth_first_trace", lambda formula: None)
    assert SpotLabeller(depth_first=True)(formula) == spots
