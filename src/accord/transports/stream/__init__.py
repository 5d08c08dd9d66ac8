"""Exchange messages over byte streams: TCP, TLS and Unix sockets.

channel    a byte stream as a channel; pipes and WebSockets build on it
endpoints  `open_stream` and `listen_stream`
"""

from accord.transports.stream.channel import StreamChannel, StreamSettings

__all__ = ["StreamChannel", "StreamSettings"]
