"""Messages over WebSocket, RFC 6455.

masking    the masking of payloads                                   pure
frames     bytes in, events out, and the bytes of frames to send     pure
handshake  the opening handshake: HTTP in, a decision and HTTP out   pure but for httptools
framer     WebSocket as a framing of a byte stream                   pure
channel    an open WebSocket, at either end
client     `open_websocket`
server     `listen_websocket`
"""
