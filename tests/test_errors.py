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
    "parameters, left",
    [
        ("constrained", "no; why"),
        ("path_of data", "no; why; change --path-of"),
        ("data path_of", "no; why; change --path-of"),
        ("", "no; why"),
    ],
)
def test_errors_name_parameters_and_commands_those_options_that_they_have(parameters, left):
    error = UserError("no; why", parameters)
    assert "--" not in str(error) and all(name in str(error) for name in parameters.split())
    assert advised(str(error), {"--path-of"}) == left
    assert all(f"--{name}".replace("_", "-") in advised(str(error)) for name in parameters.split())
