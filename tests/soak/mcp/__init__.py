"""The soak of MCP: very many sessions of both eras, and a look at what they leave behind."""
