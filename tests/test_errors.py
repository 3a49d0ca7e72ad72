"""Mistakes are exceptions like any other, and pass from process to process."""

import pickle

import pytest

from sit_fairseq.commands import main
from sit_fairseq.errors import UnansweredError, UserError


def test_a_service_catches_mistakes_as_it_catches_other_exceptions():
    assert issubclass(UserError, Exception) and not issubclass(UserError, SystemExit)


@pytest.mark.parametrize(
    "error", [UserError("no such file", "path data"), UnansweredError("too long", "a b")]
)
def test_mistakes_pass_from_process_to_process(error):
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error) and str(copy) == str(error)
    assert getattr(copy, "reason", None) == getattr(error, "reason", None)


def test_our_command_turns_a_mistake_into_its_sentence_and_status():
    with pytest.raises(SystemExit, match="^Cannot read missing.src") as end:
        main(["rename", "missing", "out", "--symbols", "[a-z]", "--names", "a"])
    assert isinstance(end.value.code, str)  # which the interpreter prints, with status 1
