"""The JSON-RPC 2.0 foundation: messages, router, session, peer.

protocol   messages, codec, errors, framing, the state of a connection (pure)
methods    routers and methods: signatures, decoding of params, interceptors (pure)
runtime    peers and dispatchers, which own the tasks, timers and threads

Pure modules do no input or output, and read no clock.

Start reading at `runtime.peer`, which draws the life of a request.
"""
