"""The verb `answer`, called in this process."""

import pytest
from command_line import sit


@pytest.fixture
def answer(capsys):
    """Calls the verb; returns the lines printed and the exit status."""

    def call(*arguments):
        capsys.readouterr()
        status = 0
        try:
            sit("answer", *arguments)
        except SystemExit as error:
            status = error.code
        return capsys.readouterr().out.splitlines(), status

    return call
