"""Operations on each face. A face decodes, runs and encodes; it decides nothing.

mapping                     what errors are called on each face
rest, rest_head, rest_route `RestApp`, the head of a request, one operation at a verb and path
routes, query, etags        paths, words of a query, versions
answers, sessions           what answers say; signing in and out
openapi, openapi_…          the document of a registry
rpc, rpc_app                operations as methods of JSON-RPC, and `RpcApp`
tools, tools_…              operations as tools of MCP, and who calls them
"""
