"""MCP over HTTP: both eras on one path (Streamable HTTP), and HTTP+SSE by option.

endpoint        `McpEndpoint`: sorts requests
endpoint_state  the state that the requests of an endpoint share, keep-alives, stored events
checks          checks of a request's head, and of its headers against its body
responses       errors of refused requests, and the status of answers
stateless       requests without a session: the stateless era and plain JSON-RPC
handshake       messages, batches and streams of sessions; HTTP+SSE of 2024-11-05
sessions        the table of sessions, the requests in a session, the response to a POST
http_session    one session and its streams, which clients can resume on a new connection
"""

from accord.mcp.server.http.endpoint import McpEndpoint as McpEndpoint
