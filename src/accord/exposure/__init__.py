"""Routes of a web application as functions with named arguments, called in process.

What OpenRPC and MCP share: neither is known here.
"""
