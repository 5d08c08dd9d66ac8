"""The error catalogue: every code Accord knows, as data.

A code has one name, one category, one severity and one default message. Exceptions, error
objects and the table in the docs are derived from these rows. The catalogue knows no
exception type and sends nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from msgspec import Struct

RESERVED = range(-32768, -32000 + 1)
"""JSON-RPC 2.0, section 5.1: codes from -32768 to -32000 are reserved for pre-defined errors."""


class Severity(StrEnum):
    """The severity of an error, which depends on whom the error concerns."""

    INFO = "info"
    """Concerns nobody: the outcome was requested, as a cancellation is."""
    WARNING = "warning"
    """Concerns the caller, who can correct the request or try again later."""
    ERROR = "error"
    """Concerns both ends: work that was accepted failed."""
    CRITICAL = "critical"
    """Concerns the operators: something is broken, or trust is at stake."""


class Entry(Struct, frozen=True):
    """An entry of the error catalogue: one kind of error, with its code and name."""

    code: int
    name: str
    category: str
    severity: Severity
    message: str


class Catalogue:
    """Entries by code and by name, in the order in which they were added.

    The entries in `shared` have the codes of other entries, so they can be found only by name.
    """

    def __init__(
        self,
        entries: tuple[Entry, ...] = (),
        aliases: dict[str, str] | None = None,
        shared: tuple[Entry, ...] = (),
    ):
        self._by_code = {entry.code: entry for entry in entries}
        self._by_name = {entry.name: entry for entry in (*entries, *shared)}
        for alias, name in (aliases or {}).items():
            self._by_name[alias] = self._by_name[name]

    def __iter__(self) -> Iterator[Entry]:
        return iter(tuple(self._by_code.values()))

    def __len__(self) -> int:
        return len(self._by_code)

    def get(self, code: int) -> Entry | None:
        """Return the entry for `code`, or None."""
        return self._by_code.get(code)

    def find(self, code: int, reason: object = None) -> Entry | None:
        """Return the entry that the reason of an error names, else the one for its code.

        A code may have several meanings. -32002 is an unknown tool in the extended profile of MCP
        and a missing resource in the standard one; most errors of MCP share -32602. The reason,
        which Accord sends in `data.reason`, distinguishes them. Codes outside of `RESERVED` belong
        to applications, as do the reasons sent with them. With such a code, a reason counts only if
        the entry that it names has this code.
        """
        by_code = self._by_code.get(code)
        named = self._by_name.get(reason) if isinstance(reason, str) else None
        if named is not None and (named.code == code or code in RESERVED):
            return named
        return by_code

    def named(self, name: str) -> Entry:
        """Return the entry for `name`, which may be an alias.

        Raises KeyError, with similar names, if no entry has this name.
        """
        entry = self._by_name.get(name)
        if entry is None:
            raise KeyError(_unknown(name, self._by_name))
        return entry

    def aliases(self, entry: Entry) -> tuple[str, ...]:
        """Return the aliases of `entry`."""
        return tuple(
            name for name, found in self._by_name.items() if found is entry and name != entry.name
        )

    def register(
        self, code: int, name: str, category: str, severity: Severity, message: str
    ) -> Entry:
        """Add an application's own code.

        Raises ValueError if the code is reserved, or the code or the name is taken.
        """
        if code in RESERVED:
            raise ValueError(
                f"code {code} of {name!r} is reserved: applications use codes outside "
                f"{RESERVED[0]} to {RESERVED[-1]}"
            )
        if code in self._by_code:
            raise ValueError(f"code {code} of {name!r} is taken by {self._by_code[code].name!r}")
        if name in self._by_name:
            raise ValueError(f"name {name!r} is taken by code {self._by_name[name].code}")
        entry = Entry(code, name, category, severity, message)
        self._by_code[code] = self._by_name[name] = entry
        return entry


def _unknown(name: str, known: dict[str, Entry]) -> str:
    # Only this path pays for the import.
    from difflib import get_close_matches

    close = get_close_matches(name, known)
    hint = f"; did you mean {' or '.join(close)}?" if close else ""
    return f"no error is called {name!r}{hint}"


_INFO, _WARNING, _ERROR, _CRITICAL = Severity

_ROWS: dict[str, tuple[tuple[int, str, Severity, str], ...]] = {
    "jsonrpc": (
        (-32700, "parse_error", _WARNING, "Parse error"),
        (-32600, "invalid_request", _WARNING, "Invalid Request"),
        (-32601, "method_not_found", _WARNING, "Method not found"),
        (-32602, "invalid_params", _WARNING, "Invalid params"),
        (-32603, "internal_error", _CRITICAL, "Internal error"),
        (-32000, "server_error", _ERROR, "Server error"),
    ),
    "core": (
        (-32001, "resource_not_found", _WARNING, "Resource not found"),
        (-32002, "tool_not_found", _WARNING, "Tool not found"),
        (-32003, "prompt_not_found", _WARNING, "Prompt not found"),
        (-32004, "capability_not_supported", _WARNING, "Capability not supported"),
        (-32005, "not_initialized", _WARNING, "Not initialized"),
        (-32006, "subscription_failed", _ERROR, "Subscription failed"),
        (-32007, "validation_failed", _WARNING, "Validation failed"),
        (-32008, "transport_error", _ERROR, "Transport error"),
        (-32009, "timeout", _ERROR, "Timed out"),
        (-32010, "rate_limited", _WARNING, "Busy"),
    ),
    "content": (
        (-32011, "tool_description_too_long", _WARNING, "Tool description too long"),
        (-32012, "message_too_large", _WARNING, "Message too large"),
        (-32013, "invalid_content_type", _WARNING, "Invalid content type"),
        (-32014, "content_too_large", _WARNING, "Content too large"),
        (-32015, "invalid_encoding", _WARNING, "Invalid encoding"),
        (-32016, "binary_data_too_large", _WARNING, "Binary data too large"),
        (-32017, "text_too_long", _WARNING, "Text too long"),
        (-32018, "invalid_mime_type", _WARNING, "Invalid MIME type"),
        (-32019, "unsupported_media_type", _WARNING, "Unsupported media type"),
        (-32020, "media_type_not_acceptable", _WARNING, "No acceptable media type"),
    ),
    "resource": (
        (-32021, "resource_template_not_found", _WARNING, "Resource template not found"),
        (-32022, "invalid_uri", _WARNING, "Invalid URI"),
        (-32023, "uri_syntax_error", _WARNING, "URI syntax error"),
        (-32024, "uri_too_long", _WARNING, "URI too long"),
        (-32025, "resource_access_denied", _WARNING, "Access to the resource denied"),
        (-32026, "resource_already_exists", _WARNING, "Resource already exists"),
        (-32027, "resource_locked", _WARNING, "Resource locked"),
        (-32028, "resource_version_mismatch", _WARNING, "Resource has another version"),
        (-32029, "template_render_failed", _ERROR, "Template could not be rendered"),
        (-32030, "invalid_uri_template", _WARNING, "Invalid URI template"),
    ),
    "tool": (
        (-32031, "tool_execution_failed", _ERROR, "Tool failed"),
        (-32032, "tool_timeout", _ERROR, "Tool timed out"),
        (-32033, "tool_cancelled", _INFO, "Tool cancelled"),
        (-32034, "invalid_tool_arguments", _WARNING, "Invalid tool arguments"),
        (-32035, "tool_disabled", _WARNING, "Tool disabled"),
        (-32036, "tool_result_too_large", _ERROR, "Tool result too large"),
        (-32037, "tool_not_allowed", _WARNING, "Tool not allowed"),
        (-32038, "max_concurrent_tools", _WARNING, "Too many tools running"),
        (-32039, "tool_dependency_failed", _ERROR, "Something the tool depends on failed"),
        (-32040, "tool_schema_invalid", _CRITICAL, "Tool has an invalid schema"),
    ),
    "prompt": (
        (-32042, "url_elicitation_required", _INFO, "The user must visit a URL first"),
        (-32043, "prompt_argument_missing", _WARNING, "Prompt argument missing"),
        (-32044, "prompt_render_failed", _ERROR, "Prompt could not be rendered"),
        (-32045, "invalid_prompt_arguments", _WARNING, "Invalid prompt arguments"),
        (-32046, "sampling_failed", _ERROR, "Sampling failed"),
        (-32047, "sampling_timeout", _ERROR, "Sampling timed out"),
        (-32048, "invalid_model_preferences", _WARNING, "Invalid model preferences"),
        (-32049, "model_not_available", _WARNING, "Model not available"),
        (-32050, "sampling_rate_limited", _WARNING, "Too many sampling requests"),
    ),
    "auth": (
        (-32051, "authentication_failed", _WARNING, "Authentication failed"),
        (-32052, "authorization_failed", _WARNING, "Authorization failed"),
        (-32053, "invalid_credentials", _WARNING, "Invalid credentials"),
        (-32054, "token_expired", _WARNING, "Token expired"),
        (-32055, "insufficient_permissions", _WARNING, "Insufficient permissions"),
        (-32056, "access_denied", _WARNING, "Access denied"),
        (-32057, "session_expired", _WARNING, "Session expired"),
        (-32058, "session_not_found", _WARNING, "Session not found"),
        (-32059, "invalid_token", _WARNING, "Invalid token"),
        (-32060, "unauthorized_operation", _WARNING, "Operation not authorized"),
    ),
    "protocol": (
        (-32061, "unsupported_protocol_version", _WARNING, "Unsupported protocol version"),
        (-32062, "protocol_version_mismatch", _WARNING, "Protocol versions do not match"),
        (-32063, "capability_negotiation_failed", _ERROR, "Capability negotiation failed"),
        (-32064, "incompatible_capabilities", _WARNING, "Incompatible capabilities"),
        (-32065, "method_not_supported", _WARNING, "Method not supported"),
        (-32066, "notification_not_supported", _WARNING, "Notification not supported"),
        (-32067, "request_id_invalid", _WARNING, "Invalid request id"),
        (-32068, "request_id_conflict", _WARNING, "Request id already in use"),
        (-32069, "batch_request_too_large", _WARNING, "Batch too large"),
        (-32070, "batch_partial_failure", _ERROR, "Part of the batch failed"),
    ),
    "pagination": (
        (-32071, "invalid_cursor", _WARNING, "Invalid cursor"),
        (-32072, "cursor_expired", _WARNING, "Cursor expired"),
        (-32073, "pagination_not_supported", _WARNING, "Pagination not supported"),
        (-32074, "page_size_too_large", _WARNING, "Page size too large"),
        (-32075, "page_size_invalid", _WARNING, "Invalid page size"),
        (-32076, "invalid_offset", _WARNING, "Invalid offset"),
        (-32077, "cursor_requires_parameter", _WARNING, "Cursor needs another parameter"),
        (-32078, "cursor_encoding_failed", _ERROR, "Cursor could not be encoded"),
        (-32079, "pagination_limit_exceeded", _WARNING, "Pagination limit exceeded"),
        (-32080, "cursor_position_invalid", _WARNING, "Invalid cursor position"),
    ),
    "task": (
        (-32081, "task_not_found", _WARNING, "Task not found"),
        (-32082, "task_already_exists", _WARNING, "Task already exists"),
        (-32083, "task_failed", _ERROR, "Task failed"),
        (-32084, "task_cancelled", _INFO, "Task cancelled"),
        (-32085, "task_timeout", _ERROR, "Task timed out"),
        (-32086, "task_state_invalid", _WARNING, "Task state does not allow this"),
        (-32087, "max_concurrent_tasks", _WARNING, "Too many tasks running"),
        (-32088, "task_dependency_failed", _ERROR, "Something the task depends on failed"),
        (-32089, "task_result_not_ready", _WARNING, "Task result not ready"),
        (-32090, "task_already_completed", _WARNING, "Task already completed"),
    ),
    "progress": (
        (-32091, "invalid_progress_token", _WARNING, "Invalid progress token"),
        (-32092, "progress_token_expired", _WARNING, "Progress token expired"),
        (-32093, "progress_update_failed", _ERROR, "Progress update failed"),
        (-32094, "notification_failed", _ERROR, "Notification failed"),
        (-32095, "notification_queue_full", _WARNING, "Notification queue full"),
        (-32096, "invalid_notification_type", _WARNING, "Invalid notification type"),
        (-32097, "notification_not_delivered", _ERROR, "Notification not delivered"),
        (-32098, "progress_value_invalid", _WARNING, "Invalid progress value"),
        (-32099, "progress_total_invalid", _WARNING, "Invalid progress total"),
    ),
    "completion": (
        (-32110, "completion_not_found", _WARNING, "Completion not found"),
        (-32111, "completion_invalid_reference", _WARNING, "Invalid completion reference"),
        (-32112, "completion_invalid_argument", _WARNING, "Invalid completion argument"),
        (-32113, "completion_failed", _ERROR, "Completion failed"),
    ),
    "elicitation": (
        (1090, "elicitation_failed", _ERROR, "Elicitation failed"),
        (1091, "elicitation_timeout", _ERROR, "Elicitation timed out"),
        (1092, "elicitation_cancelled", _INFO, "Elicitation cancelled"),
        (1093, "invalid_elicitation_mode", _WARNING, "Invalid elicitation mode"),
        (1094, "elicitation_security_error", _CRITICAL, "Elicitation refused for security"),
    ),
    "experimental_task": (
        (1095, "experimental_task_not_found", _WARNING, "Task not found"),
        (
            1096,
            "experimental_task_dependency_failed",
            _ERROR,
            "Something the task depends on failed",
        ),
        (1097, "experimental_task_cancelled", _INFO, "Task cancelled"),
        (1098, "experimental_task_timeout", _ERROR, "Task timed out"),
        (1099, "invalid_task_state", _WARNING, "Task state does not allow this"),
    ),
}

BUILT_IN = tuple(
    Entry(code, name, category, severity, message)
    for category, rows in _ROWS.items()
    for code, name, severity, message in rows
)
"""The entries of Accord itself."""

SHARED = (
    Entry(-32020, "header_mismatch", "protocol", _WARNING, "Header and body differ"),
    Entry(-32602, "invalid_meta", "protocol", _WARNING, "Invalid _meta"),
    Entry(-32602, "invalid_request_state", "protocol", _WARNING, "Invalid request state"),
)
"""Entries for further meanings of MCP's standard codes, identified by `data.reason`."""

CATALOGUE = Catalogue(
    BUILT_IN,
    shared=SHARED,
    # A limit of this end and a quota of the caller share one code on the wire.
    aliases={"busy": "rate_limited"},
)
"""The catalogue of this process: Accord's entries and those registered by the application."""
