"""Adapters of operations: REST, JSON-RPC and MCP. They decode, run and encode, and decide nothing.

errors         names and codes of errors on each adapter
rest_messages  heads of REST requests; responses, problems, entity tags
rest_routes    the tree of paths, and one operation at a verb and path
rest           `RestApp`
openapi        the OpenAPI document of a registry
rpc            `RpcApp`, and operations as methods of JSON-RPC
mcp_tools      operations as MCP tools, and their callers
mcp_schemas    schemas of tools
mcp_results    results of tools; `mcp_text` renders them as text
"""
