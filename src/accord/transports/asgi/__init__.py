"""A router as an ASGI application: alone under any ASGI server, or inside another one.

    endpoint    `AsgiEndpoint`, and the exchange of one request: body, answer, disconnect
    websocket   a channel over the server's WebSocket
    scope       the types of ASGI, and the reading of a scope                        pure

Requests are admitted and refused by `accord.transports.http.admission`, as in the HTTP server.
"""

from accord.transports.asgi.endpoint import AsgiEndpoint as AsgiEndpoint
