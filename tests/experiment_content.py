"""What a file of experiments may hold, for their tests."""

from pathlib import Path

from sit_fairseq.evaluation.experiments import make_experiments

CONTENT = {
    "hydra": ["some-hydra.yaml"],
    "seeds": [1, 2],
    "conditions": {"All": {"data": "bin"}, "Few": {"data": "bin.few", "models": ["B"]}},
    "models": {"A": "model.dropout=0 'y=a b'", "B": ""},
    "measurements": {
        "test": {"command": "prop x", "columns": {"Correct": "correct.share"}},
        "covariance": {
            "command": "prop x --renamings 9 --counts 3",
            "columns": {"3 AP": "3.mean"},
            "models": ["B"],
        },
    },
}


def experiments(folder=Path("."), **parts):
    return make_experiments({**CONTENT, **parts}, "some.yaml", folder)
