"""The methods of the protocol, a module for each feature.

Each module has `methods(core)`, which returns its rows of the table. `Server` gives the table to
its `Core`; no module below this package imports it.
"""

from __future__ import annotations

from accord.mcp.server.core import Core, MethodTable
from accord.mcp.server.methods import (
    completion,
    lifecycle,
    prompts,
    resources,
    subscriptions,
    tasks,
    tools,
)

_FEATURES = (lifecycle, tools, resources, prompts, completion, subscriptions, tasks)


def method_table(core: Core) -> MethodTable:
    """Return the methods of all features."""
    methods = {name: row for each in _FEATURES for name, row in each.methods(core).items()}
    return MethodTable(methods, lifecycle.notifications(core))
