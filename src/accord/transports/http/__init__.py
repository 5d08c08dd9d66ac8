"""HTTP/1.1: JSON-RPC messages in POSTs, and applications that answer HTTP themselves.

    server      `listen_http`: one POST per message or batch, its answer in the response;
                `listen_web`: a `WebApp` on our own server
    web_app     the interface: `WebApp`, `Exchange`, `Stream`; the rules for heads of requests
    connection  one client of a server, and the site: clock, limits and sweep of a listener
    requests    bytes in, whole requests or refusals out                     pure
    admission   decisions by a request's head; the ASGI adapter uses them too
    replies     replies of the server itself, as bytes                       pure

    client      `open_http`: a channel over a pool of connections
    requester   requests to any address, with responses read as they arrive
    responses   bytes in, whole responses and the answers in them out        pure

    heads       heads of requests and responses, read strictly; `WebRequest` pure
    body        chunked bodies, and those of known length                    pure

A `WebApp` decides by a request's head whether its body is read, and answers the request with one
reply or with a stream; it knows nothing of JSON-RPC.

httptools parses the heads. The end of a body is found by this package, because httptools cannot be
stopped between two pipelined requests: it could not hold back the second one. Pure modules know no
socket, clock or task.
"""
