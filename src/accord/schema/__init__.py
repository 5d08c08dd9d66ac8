"""JSON Schema from Python types, for whoever describes what is called: OpenRPC, MCP, REST."""
