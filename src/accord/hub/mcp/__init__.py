"""The hub for assistants: MCP resources, prompts, completions and notifications.

server      the MCP server, with request guard and completions
resources   URIs and the operations that read them; all items as a list
prompts     prompts of the database; the active one as server instructions
notifier    notifications about changes of any process
"""
