"""Exchange messages over WebSocket (RFC 6455).

Pure modules know no socket, clock or task.

frames     bytes in, events out, and the bytes of frames to send     pure
handshake  the opening handshake: HTTP in, a decision and HTTP out   pure, uses httptools
channel    an open WebSocket, at either end
endpoints  `open_websocket` and `listen_websocket`
"""
