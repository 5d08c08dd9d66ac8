"""What carries messages: memory, standard streams, sockets, WebSocket, HTTP.

Each transport implements `accord.jsonrpc.channel.Channel`. `connect` and `serve` choose one
by its URL.
"""
