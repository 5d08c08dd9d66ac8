"""What the exit codes of `accord` mean, and which one an exception leads to."""

from __future__ import annotations

from typing import Final

from accord.cli.extras import is_unavailable

OK: Final = 0
ANSWERED_WITH_ERROR: Final = 1
WRONG_USAGE: Final = 2
NO_CONNECTION: Final = 3
TIMED_OUT: Final = 4
RUN_FAILED: Final = 5
RUN_CANCELLED: Final = 6
BUG: Final = 70
INTERRUPTED: Final = 130
OUTPUT_CLOSED: Final = 141

MEANINGS: Final = {
    OK: "all went well",
    ANSWERED_WITH_ERROR: "the call was answered with an error, or what was looked at has some",
    WRONG_USAGE: "wrong usage",
    NO_CONNECTION: "could not connect or listen, or the connection was lost",
    TIMED_OUT: "no answer in time",
    RUN_FAILED: "the run failed",
    RUN_CANCELLED: "the run was cancelled",
    BUG: "a fault of accord itself",
    INTERRUPTED: "interrupted by Ctrl-C",
    OUTPUT_CLOSED: "whoever read the output went away",
}


class UsageError(Exception):
    """The command line, or a file it names, cannot be understood."""

    def __init__(self, message: str, *, advice: str | None = None) -> None:
        super().__init__(message)
        self.advice = advice
        """What to do next; None names the help of the command, "" is for messages that say it."""


def exit_code(error: BaseException) -> int:
    """The exit code that tells a script what kind of failure `error` is."""
    if isinstance(error, UsageError) or is_about_a_file(error) or is_unavailable(error):
        return WRONG_USAGE
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    if isinstance(error, BrokenPipeError):
        return OUTPUT_CLOSED
    return _exit_code_of_call(error)


def is_about_a_file(error: BaseException) -> bool:
    """Whether a file or folder cannot be used, which is not a fault of accord."""
    return isinstance(error, OSError) and error.filename is not None


def _exit_code_of_call(error: BaseException) -> int:
    from accord.a2a.protocol.errors import UnknownOutcomeError
    from accord.jsonrpc.errors import AccordError, CallTimeoutError, TransportError
    from accord.operations.errors import ServiceError
    from accord.store.errors import StoreError, UnavailableError

    if isinstance(error, TransportError | UnavailableError):
        return NO_CONNECTION
    if isinstance(error, UnknownOutcomeError) and error.code == "unreachable":
        return NO_CONNECTION
    if isinstance(error, CallTimeoutError) and not error.remote:
        return TIMED_OUT
    known = isinstance(error, AccordError | ServiceError | StoreError)
    return ANSWERED_WITH_ERROR if known else BUG
