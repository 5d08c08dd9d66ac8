"""What can be done with accounts, on every face but MCP."""

from __future__ import annotations

from accord.operations.registry import Registry

operations = Registry()
