"""MCP over HTTP, as a client: Streamable HTTP of both eras, and the older HTTP+SSE."""
