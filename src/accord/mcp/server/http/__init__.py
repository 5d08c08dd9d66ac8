"""MCP over HTTP: both eras on one path (Streamable HTTP), and HTTP+SSE by option.

endpoint        `McpEndpoint`: sorts requests
endpoint_state  the state that the requests of an endpoint share, and its keep-alives
checks          checks of a request's head, and of its headers against its body
responses       errors of refused requests, and the status of answers
stateless       requests without a session: the stateless era and plain JSON-RPC
handshake       messages, batches and streams of sessions
sessions        the table of sessions: limits, lifetimes and owners
http_session    one session, and its streams, which outlive their connections
session_calls   requests of a session, and the answer to a POST
events          sent events, for clients that resume a stream
legacy_sse      HTTP+SSE of 2024-11-05
"""

from accord.mcp.server.http.endpoint import McpEndpoint as McpEndpoint
