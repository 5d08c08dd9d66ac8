"""JSON-RPC over HTTP/1.1: one POST per message or batch, its answer in the response.

    server      `listen_http`
    site        what the connections of a listener share: clock, limits, sweep
    connection  one client of a server: reads, has requests answered, writes
    calls       one client of the JSON-RPC server: its requests are messages
    requests    bytes in, whole requests or refusals out             pure
    rules       what follows from a request's head
    request     `WebRequest`: the head of a request, read once and handed on
    admission   who is let in; the ASGI adapter asks it too
    replies     what the server says by itself, as bytes             pure

    client      `open_http`: a channel over a pool of connections
    exchange    one connection of the client
    responses   bytes in, whole responses out                        pure
    answers     what a response means for the message it answers     pure

    heads       the head of a request or response, read strictly     pure
    fields      header fields, looked at only when asked for         pure
    bodies, chunked                                                  pure

httptools reads the heads. Where a body ends is decided here: a parser that cannot be
stopped between two pipelined requests cannot hold the second one back.
"""
