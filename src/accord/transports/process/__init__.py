"""Exchange messages over the stdin and stdout of a child process."""

from accord.transports.process.transport import open_process

__all__ = ["open_process"]
