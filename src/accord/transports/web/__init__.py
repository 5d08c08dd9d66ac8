"""Applications that answer HTTP themselves, and who carries them.

    app         what an application is given and gives: `WebRequest`, `Exchange`, `WebApp`
    rules       what follows from a request's head
    connection  one client of our own HTTP server
    server      `listen_web`
    asgi        `WebAsgi`: the same application under any ASGI server

An application decides by a request's head whether its body is read, and answers it with one
reply or with a stream. Neither it nor the seam knows JSON-RPC.
"""
