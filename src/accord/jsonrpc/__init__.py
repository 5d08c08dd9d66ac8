"""The JSON-RPC 2.0 foundation: messages, router, session, peer.

Start reading at `peer`, which draws the life of a request. Most of this package is pure:
bytes and values in, bytes and values out.
"""
