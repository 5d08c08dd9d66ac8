"""JSON-RPC over HTTP/1.1: one POST per message or batch, its answer in the response.

    server      `listen_http`: connections whose requests are JSON-RPC messages
    connection  one client of a server, and the site: clock, limits and sweep of a listener
    requests    bytes in, whole requests or refusals out                     pure
    admission   decisions by a request's head; the ASGI adapter uses them too
    replies     replies of the server itself, as bytes                       pure

    client      `open_http`: a channel over a pool of connections
    requester   requests to any address, with responses read as they arrive
    responses   bytes in, whole responses and the answers in them out        pure

    heads       heads of requests and responses, read strictly; `WebRequest` pure
    body        chunked bodies, and those of known length                    pure

httptools parses the heads. The end of a body is found here, not by httptools: a parser that
cannot be stopped between two pipelined requests cannot hold the second one back.
"""
