"""What can be done with accounts, on every face but MCP."""

from __future__ import annotations

from accord.operations.accounts import session_operations, token_operations, user_operations
from accord.operations.registry import Registry

operations = Registry()
operations.include(user_operations.operations)
operations.include(session_operations.operations)
operations.include(token_operations.operations)
