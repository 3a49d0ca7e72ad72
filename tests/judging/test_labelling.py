"""Labels of temporal formulas, in processes that can be stopped."""

from conftest import needs_spot
from moody import echo

from sit_fairseq.judging import labelling
from sit_fairseq.judging.labelling import Label, LabelPool, SpotLabeller


@needs_spot
def test_labeller_asks_spot_where_depth_first_finds_nothing(monkeypatch):
    formula = "! U a b"
    spots, depth_first = "{ & a ! b }", "{ ! b }"
    assert SpotLabeller()(formula) == spots
    assert SpotLabeller(depth_first=True)(formula) == depth_first
    assert SpotLabeller(depth_first=True)("& a ! a") == ""
    monkeypatch.setattr(labelling, "depth_first_trace", lambda formula: None)
    assert SpotLabeller(depth_first=True)(formula) == spots


def test_faults_of_labels_and_of_labelling():
    formulas = ["{ a }", "", "crash", "{ 0 }", "sleep", "a ; { b }"]
    with LabelPool(echo, workers=2, timeout=0.3) as pool:
        labels = list(pool.labels(formulas))
    assert labels == [
        Label("{ a }", None),
        Label("", "unsatisfiable"),
        Label("", "error"),
        Label("{ 0 }", "zero_in_trace"),
        Label("", "timeout"),
        Label("a ; { b }", None),
    ]
    assert [label.stopped for label in labels] == [False, False, True, False, True, False]
