"""Exit codes of `accord`, and the extras: optional packages that commands may need.

`accord --help` loads this module, so it imports nothing slow, not even msgspec.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final, NamedTuple

# Exit codes


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
    """The command line, or a file that it names, is invalid."""

    def __init__(self, message: str, *, advice: str | None = None) -> None:
        super().__init__(message)
        self.advice = advice
        """What to do next, printed after the message. If None, the help of the command is
        mentioned; if "", nothing is added."""


def exit_code(error: BaseException) -> int:
    """Return the exit code for an exception."""
    if isinstance(error, UsageError) or is_about_a_file(error) or is_unavailable(error):
        return WRONG_USAGE
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    if isinstance(error, BrokenPipeError):
        return OUTPUT_CLOSED
    return _exit_code_of_call(error)


def is_about_a_file(error: BaseException) -> bool:
    """Return whether the error is an OSError about a file or folder, which is no bug."""
    return isinstance(error, OSError) and error.filename is not None


def _exit_code_of_call(error: BaseException) -> int:
    from accord.a2a.protocol.errors import UnknownOutcomeError
    from accord.jsonrpc.protocol.errors import AccordError, CallTimeoutError, TransportError
    from accord.operations.errors import ServiceError
    from accord.store.store import StoreError, StoreUnavailableError

    if isinstance(error, TransportError | StoreUnavailableError):
        return NO_CONNECTION
    if isinstance(error, UnknownOutcomeError) and error.code == "unreachable":
        return NO_CONNECTION
    if isinstance(error, CallTimeoutError) and not error.remote:
        return TIMED_OUT
    known = isinstance(error, AccordError | ServiceError | StoreError)
    return ANSWERED_WITH_ERROR if known else BUG


# Optional dependencies


class Extra(NamedTuple):  # `accord --help` loads this module, and does without msgspec
    """Packages that `pip install 'accord[name]'` adds."""

    modules: tuple[str, ...]
    use: str
    is_needed: bool = False
    """True if `accord serve` needs the extra."""

    @property
    def is_installed(self) -> bool:
        """Return whether all packages of the extra can be found, without importing them."""
        return all(find_spec(module) is not None for module in self.modules)


EXTRAS: Final = {
    "hub": Extra(("argon2",), "passwords", is_needed=True),
    "web": Extra(("jinja2", "markdown_it"), "pages", is_needed=True),
    "workflows": Extra(("yaml",), "workflows in YAML", is_needed=True),
    "postgres": Extra(("asyncpg",), "PostgreSQL"),
    "kafka": Extra(("confluent_kafka",), "Kafka as the bus of workflows"),
    "redis": Extra(("redis",), "rate limits in Redis"),
    "otel": Extra(("opentelemetry",), "traces"),
    "auth": Extra(("jwt", "cryptography"), "OAuth of MCP servers and clients"),
    "pydantic": Extra(("pydantic",), "models of pydantic as params"),
    "uvloop": Extra(("uvloop",), "a faster event loop"),
}


POSIX_MODULES: Final = frozenset({"fcntl", "resource"})


def missing_extra(error: BaseException) -> str | None:
    """Return the extra that a failed import needs, None for any other error."""
    module = missing_module(error)
    return next((name for name in EXTRAS if module in EXTRAS[name].modules), None)


def missing_module(error: BaseException) -> str:
    """Return the package that could not be imported; "" for any other error.

    `error` is the failed import itself, or was raised because of it, as when the driver of a
    database is not installed.
    """
    for each in (error, error.__cause__):
        if isinstance(each, ModuleNotFoundError) and each.name is not None:
            return each.name.partition(".")[0]
    return ""


def is_unavailable(error: BaseException) -> bool:
    """Return whether an import failed for lack of an extra or of a POSIX system."""
    return missing_extra(error) is not None or needs_posix(error)


def needs_posix(error: BaseException) -> bool:
    """Return whether an import failed because it needs a POSIX system."""
    return isinstance(error, ModuleNotFoundError) and error.name in POSIX_MODULES


def missing_for_serve() -> list[str]:
    """Return the extras that `accord serve` needs and that are not installed."""
    return [name for name, each in EXTRAS.items() if each.is_needed and not each.is_installed]


def install_command(names: list[str]) -> str:
    """Return the command that installs these extras."""
    return f"pip install 'accord[{','.join(names)}]'"
