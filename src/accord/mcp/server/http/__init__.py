"""MCP over HTTP: both eras on one path (Streamable HTTP), and the older HTTP+SSE by option.

endpoint        `McpEndpoint`: sorts what arrives
endpoint_state  what the requests of an endpoint share
gate            who is let in by the head of a request
bodies          what a body says
answers         answers, and the status that goes with them
stateless       one request of the stateless era
sessions        the sessions of the handshake era: how many, for how long, whose
http_session    one of them, and its streams, which outlive their connections
session_call    one request in a session
post            the answer to one POST in a session: JSON, or a stream
events          what was sent on streams, to be sent again
old_sse         HTTP+SSE of 2024-11-05
pulse           what is done every few seconds: keep-alive, expiry
"""

from accord.mcp.server.http.endpoint import McpEndpoint as McpEndpoint
