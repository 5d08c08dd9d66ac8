"""Applications that answer HTTP themselves, and the servers that carry them.

    app      the interface: `WebApp`, `Exchange`, `Stream`; the rules for heads of requests
    server   `listen_web`: our own HTTP server, and the connections of its clients
    asgi     `WebAsgi`: the same application under any ASGI server

An application decides by a request's head whether its body is read, and answers it with one
reply or with a stream. This package knows nothing of JSON-RPC.
"""
