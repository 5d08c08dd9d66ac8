"""A router as an ASGI application: alone under any ASGI server, or inside another one.

    endpoint    `AsgiEndpoint`
    exchange    one request: its body, its answer, its client's disappearance
    websocket   a channel over the server's WebSocket
    scope       what a scope says: where a request points at, who sent it    pure
    protocol    the types of ASGI                                            pure

Who is let in, and how the rest is refused, is decided where the HTTP server asks too.
"""

from accord.transports.asgi.endpoint import AsgiEndpoint as AsgiEndpoint
