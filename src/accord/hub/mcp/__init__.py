"""The hub for assistants: MCP resources, prompts, completions and notifications.

server     the MCP server, with request guard, completions and notifications
resources  URIs and the operations that read them; prompts; all items as a list
"""
