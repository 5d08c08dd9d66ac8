"""Endpoints and applications of Accord under any ASGI server, alone or mounted.

    endpoint    `AsgiEndpoint`: a router over HTTP and WebSocket
    web         `WebAsgi`: a `WebApp` of `accord.transports.http.web_app`
    scope       the types of ASGI, the reading of a scope and of a body

Requests are admitted and refused by `accord.transports.http.admission`, as in the HTTP server.
"""

from accord.transports.asgi.endpoint import AsgiEndpoint as AsgiEndpoint
