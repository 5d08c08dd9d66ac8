"""Adapters of operations: REST, JSON-RPC and MCP. They decode, run and encode, and decide nothing.

errors        names and codes of errors on each adapter
responses     REST responses: header lines, problems, entity tags
request_meta  the head of a REST request
rest_routes   the tree of paths, and one operation at a verb and path
rest          `RestApp`
openapi       the OpenAPI document of a registry
rpc           `RpcApp`, and operations as methods of JSON-RPC
mcp_tools     operations as MCP tools, and their callers
mcp_schemas   schemas of tools
mcp_results   results of tools; `mcp_text` renders them as text
"""
