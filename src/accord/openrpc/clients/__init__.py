"""Typed clients, generated from an OpenRPC document."""

from __future__ import annotations

from accord.openrpc.clients.document import read_api as read_api
from accord.openrpc.clients.python import write_python as write_python
from accord.openrpc.clients.resolution import DocumentError as DocumentError
from accord.openrpc.clients.typescript import write_typescript as write_typescript
