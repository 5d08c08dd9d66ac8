"""A program that talks over its own stdin and stdout, for the tests of stdio to start.

python -m tests.transports.stdio_program BEHAVIOUR [asyncio|uvloop]
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable

from accord.jsonrpc.protocol.errors import ConnectError
from accord.transports.options import Options
from accord.transports.stdio import open_stdio
from accord.transports.stream import StreamChannel
from tests.transports.recorder import Recorder


class Program(Recorder):
    """Echoes, and behaves on top of that as it was told to. Ends when stdin does."""

    def __init__(self, channel: StreamChannel) -> None:
        super().__init__(self.handle)
        self.channel = channel
        self.busy = 0

    def handle(self, message: bytes) -> None:
        self.channel.send(message)

    def input_ended(self) -> None:
        super().input_ended()
        self.close_if_done()

    def close_if_done(self) -> None:
        if self.inputs_ended and not self.busy:
            self.channel.close()


class Slow(Program):
    """Answers half a second later."""

    def handle(self, message: bytes) -> None:
        self.busy += 1
        asyncio.get_running_loop().call_later(0.5, self.answer, message)

    def answer(self, message: bytes) -> None:
        self.channel.send(message)
        self.busy -= 1
        self.close_if_done()


class Noisy(Program):
    """Prints to stdout in every way there is."""

    def handle(self, message: bytes) -> None:
        print("noise from print", flush=True)
        sys.__stdout__.write("noise from the first stdout\n")  # type: ignore[union-attr]
        os.write(1, b"noise from the descriptor\n")
        subprocess.run(["echo", "noise from a child"], check=True)
        self.channel.send(message)


class Greedy(Program):
    """Reads from stdin in every way there is, and tells what it got."""

    def handle(self, message: bytes) -> None:
        child = subprocess.run(["cat"], capture_output=True, check=True)
        got = sys.stdin.read().encode() + os.read(0, 100) + child.stdout
        self.channel.send(message + b" and " + (got or b"nothing"))


BEHAVIOURS: dict[str, Callable[[StreamChannel], Program]] = {
    "echo": Program,
    "slow": Slow,
    "noisy": Noisy,
    "greedy": Greedy,
}


async def main(behaviour: str) -> None:
    if behaviour == "twice":
        await open_twice()
        return
    channel = await open_stdio(Options())
    program = BEHAVIOURS[behaviour](channel)
    channel.start(program)
    error = await program.ended()
    print(f"stdout is back: {error}")


async def open_twice() -> None:
    channel = await open_stdio(Options())
    try:
        await open_stdio(Options())
    except ConnectError as error:
        print(error.message)  # to stderr, as all is now
    program = Program(channel)
    channel.start(program)
    channel.close()
    await program.ended()
    again = await open_stdio(Options())
    again.start(program := Program(again))
    again.close()
    await program.ended()


def run(behaviour: str, loop: str = "asyncio") -> None:
    factory = None
    if loop == "uvloop":
        import uvloop

        factory = uvloop.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        try:
            runner.run(main(behaviour))
        except ConnectError as error:
            sys.exit(error.message)


if __name__ == "__main__":
    run(*sys.argv[1:])
