"""Exchange messages over byte streams: TCP, TLS and Unix sockets.

channel      a byte stream as a channel; pipes and WebSockets build on it
connections  `open_stream` and `listen_stream`
"""

from accord.transports.stream.channel import StreamChannel, StreamSettings

__all__ = ["StreamChannel", "StreamSettings"]
