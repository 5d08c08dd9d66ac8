"""The bridge: takes tasks of runs, carries them out, and reports the results.

A task is a call to an agent, an MCP tool, a JSON-RPC method, a plugin step or an operation.
"""
