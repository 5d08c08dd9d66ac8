"""MCP servers: tools, resources and prompts that assistants use."""
