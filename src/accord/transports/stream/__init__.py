"""Messages over byte streams: TCP, TLS and Unix sockets."""

from accord.transports.stream.channel import StreamChannel, StreamSettings
from accord.transports.stream.client import open_stream
from accord.transports.stream.server import StreamListener, listen_stream

__all__ = ["StreamChannel", "StreamListener", "StreamSettings", "listen_stream", "open_stream"]
