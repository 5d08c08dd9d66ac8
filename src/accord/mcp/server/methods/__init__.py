"""The methods of the protocol, by feature.

Each function of `_FEATURES` returns its methods as rows of the table. `Server` passes the table to
its `Core`; no module below this package imports it.
"""

from __future__ import annotations

from accord.mcp.server.core import Core, MethodTable
from accord.mcp.server.methods.features import (
    completion_methods,
    prompt_methods,
    resource_methods,
    tool_methods,
)
from accord.mcp.server.methods.lifecycle import (
    lifecycle_methods,
    lifecycle_notifications,
    subscription_methods,
)
from accord.mcp.server.methods.tasks import task_methods

_FEATURES = (
    lifecycle_methods,
    tool_methods,
    resource_methods,
    prompt_methods,
    completion_methods,
    subscription_methods,
    task_methods,
)


def method_table(core: Core) -> MethodTable:
    """Return the methods of all features, as the table of a core."""
    methods = {name: row for rows in _FEATURES for name, row in rows(core).items()}
    return MethodTable(methods, lifecycle_notifications(core))
