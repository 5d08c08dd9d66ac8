"""Messages over byte streams: TCP, TLS and Unix sockets.

address  the parts of a stream's URL                                 pure
channel  a byte stream as a channel; pipes and WebSockets build on it
client   `open_stream`
server   `listen_stream`
"""

from accord.transports.stream.channel import StreamChannel, StreamSettings

__all__ = ["StreamChannel", "StreamSettings"]
