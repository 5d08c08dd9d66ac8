"""The web pages: the browser interface of the hub and the workflow engine.

Pages read and change data only through operations, as REST and MCP do, so that rights, limits, the
audit trail and undo are the same everywhere.
"""
