"""JSON Schema from Python types, for descriptions in OpenRPC, MCP and REST."""
