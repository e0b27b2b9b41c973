"""How a command ends when it cannot go on."""


class UserError(Exception):
    """Something the reader can put right. The message is the one line that is printed; the exit code is 2."""


class Failure(Exception):
    """The work was done and something in it failed. The message, if any, is printed; the exit code is `code`."""

    def __init__(self, message: str = "", code: int = 1) -> None:
        super().__init__(message)
        self.code = code
