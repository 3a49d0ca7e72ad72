"""Labels of many problems, some of which take for ever."""

from moody import label

from sit_fairseq.datasets.labelling import Label, LabelPool


def test_faults_of_labels_and_of_labelling():
    problems = ["a", "no answer", "crash", "sleep", "b"]
    with LabelPool(label, workers=2, timeout=0.3) as pool:
        labels = list(pool.results(problems))
    assert labels == [
        Label("a"),
        Label("", "no answer"),
        Label("", "error"),
        Label("", "timeout"),
        Label("b"),
    ]
    assert [label.stopped for label in labels] == [False, False, True, True, False]
