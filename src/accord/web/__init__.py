"""The web pages: an adapter that lets people use the operations in a browser.

Pages read and change data only through operations, as REST and MCP do, so that rights, limits, the
audit trail and undo are the same everywhere.
"""
