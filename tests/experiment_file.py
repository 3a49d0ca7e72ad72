"""What a file of experiments may hold, for their tests."""

from pathlib import Path

from sit_fairseq.evaluation.experiments.specification import make_specification

FILE = {
    "seeds": [1, 2],
    "heading": ["Data", "Model"],
    "conditions": {"All": "bin", "Few": {"data": "bin.few", "models": ["B"]}},
    "models": {"A": ["model.dropout=0"], "B": []},
    "measurements": {
        "test": {"command": ["correct", "x"], "columns": {"Correct": "correct.share"}},
        "covariance": {
            "command": ["alpha-covariance", "x", "--counts", 3],
            "columns": {"3 AP": "3.mean"},
            "models": ["B"],
        },
    },
}


def specification(folder=Path("out"), **parts):
    return make_specification({**FILE, **parts}, folder)
