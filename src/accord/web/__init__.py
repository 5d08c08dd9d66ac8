"""The pages: one more face of the operations, for people with a browser.

A page reads and changes nothing by itself. It asks for operations, as REST and MCP do, so that
rights, limits, the audit trail and undo are the same everywhere.
"""
