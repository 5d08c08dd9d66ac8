"""Error output of commands: one line with advice for people, JSON for programs.

The tables here have the advice for errors that contain none.
"""

from __future__ import annotations

from typing import Any, Final

from msgspec import UNSET, Struct, UnsetType

from accord.a2a.protocol.errors import CallError
from accord.cli import exits
from accord.cli.exits import (
    UsageError,
    exit_code,
    install_command,
    is_about_a_file,
    missing_extra,
    missing_module,
    needs_posix,
)
from accord.cli.output import complain, print_error_line, print_json
from accord.jsonrpc.protocol.errors import RpcError, TransportError
from accord.operations.errors import NotFoundError, ServiceError
from accord.store.store import StoreError, StoreUnavailableError

NO_DATABASE: Final = (
    "check that the database runs and that --database, or ACCORD_DATABASE, is right: accord doctor"
)
NOT_FOUND: Final = {
    "token revoke": "accord token list --user NAME shows which there are",
    "hub export": "accord hub do list_epics shows which there are",
    "workflow run": "accord workflow save FILE saves one",
    **dict.fromkeys(
        ("workflow watch", "workflow cancel", "workflow retry"),
        "accord workflow list --runs shows which there are",
    ),
}
"""Advice for "not found" errors, by command: how to list the existing objects."""
CANNOT_REACH: Final = "check that it runs and that the URL is right"
UNAUTHENTICATED: Final = -32051


class ErrorReport(Struct, frozen=True, omit_defaults=True):
    """An error as printed in JSON, for programs."""

    code: int | str
    """A JSON-RPC error code, or the name of the error."""
    message: str
    data: Any | UnsetType = UNSET
    advice: str | UnsetType = UNSET
    """What to do next."""


def explain(error: Exception, command: str | None, *, as_json: bool) -> int:
    """Print an error with advice on what to do next. Return the exit code."""
    complaint = error_report(error, command)
    if as_json:
        print_json({"error": complaint})
    elif isinstance(error, RpcError):
        complain(error)
        if complaint.advice and not isinstance(error, TransportError):
            print_error_line(f"next: {complaint.advice}")
    else:
        complain(
            f"{complaint.message}; {complaint.advice}" if complaint.advice else complaint.message
        )
    return exit_code(error)


def error_report(error: Exception, command: str | None) -> ErrorReport:
    """Return an exception as an `ErrorReport`, with advice that fits the command."""
    if extra := missing_extra(error):
        program = f"accord {command}" if command else "accord"
        message = f"{program} needs the extra {extra}: {missing_module(error)} is not installed"
        return ErrorReport("extra_missing", message, advice=install_command([extra]))
    match error:
        case UsageError():
            advice = _see(command) if error.advice is None else error.advice
            return ErrorReport("wrong_usage", str(error), advice=advice or UNSET)
        case RpcError():
            return _of_call(error, command or "")
        case ServiceError():
            return _of_operation(error, command or "")
        case StoreError():
            unavailable = isinstance(error, StoreUnavailableError)
            code = "database_unavailable" if unavailable else "database_refuses"
            return ErrorReport(code, str(error), advice=NO_DATABASE)
        case CallError():
            reached = error.code != "unreachable"
            return ErrorReport(error.code, str(error), advice=UNSET if reached else CANNOT_REACH)
        case ModuleNotFoundError() if needs_posix(error):
            message = f"accord {command} needs a POSIX system, such as Linux or macOS"
            return ErrorReport("system_unsupported", message, advice="see docs/rough-edges.md")
        case OSError() if is_about_a_file(error):
            message = f"cannot use {error.filename}: {error.strerror}"
            return ErrorReport("wrong_usage", message, advice="see who owns it and may write to it")
    if exit_code(error) == exits.BUG:
        message = f"{type(error).__name__}: {error}"
        return ErrorReport("internal_error", message, advice="run it with --debug to see where")
    return ErrorReport("failed", str(error))


def _of_call(error: RpcError, command: str) -> ErrorReport:
    """Return the report of a failed JSON-RPC call: an error response or transport error."""
    data = UNSET if error.data is None else error.data
    if not isinstance(error, TransportError):
        advice = _sign_in(command) if error.code == UNAUTHENTICATED else UNSET
        return ErrorReport(error.code, error.message, data, advice)
    if data is UNSET:
        data = {"reason": "transport_error", "recoverable": error.recoverable}
    return ErrorReport(error.code, error.message, data, error.advice)


def _of_operation(error: ServiceError, command: str) -> ErrorReport:
    advice = NOT_FOUND.get(command, UNSET) if isinstance(error, NotFoundError) else UNSET
    return ErrorReport(error.kind.code, error.message, error.data or UNSET, advice)


def _see(command: str | None) -> str:
    return f"see accord {command} --help" if command else "see accord --help"


def _sign_in(command: str) -> str:
    flag = "--token …" if command.startswith("mcp ") else "--header 'Authorization: Bearer …'"
    return f"give a valid token by {flag}; accord token create makes one"
