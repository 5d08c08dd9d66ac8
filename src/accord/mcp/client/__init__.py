"""MCP clients: call any server, whatever its version and transport."""
