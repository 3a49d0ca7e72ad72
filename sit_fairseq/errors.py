"""The one exception for mistakes a user can put right."""


class UserError(SystemExit):
    """A mistake in the data, the options or a file named by the user.

    Deriving from ``SystemExit`` makes every fairseq command end with this one
    sentence on stderr and exit status 1 instead of a traceback, also where
    fairseq wraps each ``Exception`` into a misleading one. Library callers can
    catch it by name.

    Args:
        message: the cause, and the option or file to change.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)

    def __str__(self) -> str:
        return str(self.code)
