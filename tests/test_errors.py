"""Mistakes are exceptions like any other, and pass from process to process."""

import pickle

import pytest

from sit_fairseq.errors import UnansweredError, UserError, advised


def test_a_service_catches_mistakes_as_it_catches_other_exceptions():
    assert issubclass(UserError, Exception) and not issubclass(UserError, SystemExit)


@pytest.mark.parametrize(
    "error", [UserError("no such file", "path data"), UnansweredError("too long", "a b")]
)
def test_mistakes_pass_from_process_to_process(error):
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error) and str(copy) == str(error)
    assert getattr(copy, "reason", None) == getattr(error, "reason", None)


@pytest.mark.parametrize(
    "message, left",
    [
        ("no answer; change --constrained", "no answer"),
        ("no file; change --path or --data", "no file; change --path"),
        ("no file; change --data or --path", "no file; change --path"),
        ("a; change --seed of the data", "a; change --seed of the data"),
        ("no file", "no file"),
    ],
)
def test_advice_names_options_that_the_command_has(message, left):
    assert advised(message, {"--path"}) == left
