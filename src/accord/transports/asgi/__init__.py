"""A router as an ASGI application: alone under any ASGI server, or mounted in another one.

endpoint    `AsgiEndpoint`
scope       what a request's scope says: where it points at, who sent it    pure
exchange    one request: its body, its answer, its client's disappearance
protocol    the types of ASGI                                               pure
"""

from accord.transports.asgi.endpoint import AsgiEndpoint as AsgiEndpoint
