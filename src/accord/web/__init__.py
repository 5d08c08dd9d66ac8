"""The pages: an adapter of the operations for people with a browser.

A page reads and changes nothing by itself. It runs operations, as REST and MCP do, so that rights,
limits, the audit trail and undo are the same everywhere.
"""
