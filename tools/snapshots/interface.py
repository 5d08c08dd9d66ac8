"""All snapshots, by what they are made from."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Final

from tests.observe.scene import Observed
from tools.snapshots import (
    commands,
    documents,
    errors,
    messages,
    observed,
    public_names,
    schemas,
)
from tools.snapshots.documents import Served

OF_CODE: Final[dict[str, Callable[[], str]]] = {
    "commands.txt": commands.helps,
    "settings.txt": commands.settings,
    "errors.txt": errors.errors,
    "kafka.txt": messages.kafka,
    "loggers.txt": observed.loggers,
    "public-names.txt": public_names.public_names,
}
"""What the code says by itself."""
OF_SERVER: Final[dict[str, Callable[[Served], str]]] = {
    "agent-card.json": documents.card,
    "mcp-older-versions.txt": documents.older_versions,
    "mcp-prompts.json": documents.newest("prompts/list"),
    "mcp-resource-templates.json": documents.newest("resources/templates/list"),
    "mcp-resources.json": documents.newest("resources/list"),
    "mcp-server.json": documents.newest("hello"),
    "mcp-tools.json": documents.newest("tools/list"),
    "openapi.json": documents.openapi,
    "openrpc.json": documents.openrpc,
}
"""What a server says that is asked."""
OF_USE: Final[dict[str, Callable[[Observed], str]]] = {
    "log-fields.txt": observed.log_fields,
    "metrics.txt": observed.metrics,
    "spans.txt": observed.spans,
}
"""What is seen of a system on PostgreSQL that was used in every way."""
OF_FILES: Final[dict[str, Callable[[], Coroutine[Any, Any, str]]]] = {
    "audit-export.txt": messages.audit,
    "schema-sqlite.sql": schemas.sqlite,
}
"""What SQLite is needed for."""
OF_POSTGRESQL: Final[dict[str, Callable[[str], Coroutine[Any, Any, str]]]] = {
    "schema-postgresql.txt": schemas.postgresql,
}
"""What an empty PostgreSQL is needed for, at a URL."""
ALL: Final = frozenset((*OF_CODE, *OF_SERVER, *OF_USE, *OF_FILES, *OF_POSTGRESQL))
