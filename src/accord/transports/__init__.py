"""Transports that carry messages: memory, standard streams, sockets, WebSocket, HTTP.

Each transport implements the channel interface of `accord.jsonrpc`. `connect` and `serve` choose
a transport by the scheme of a URL.
"""
