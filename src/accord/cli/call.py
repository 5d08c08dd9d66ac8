"""`accord call`: one call, notification or batch to any URL."""

from __future__ import annotations

import argparse
import asyncio
import logging
import shlex
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from accord.cli import exits
from accord.cli.commands import Command, Parser
from accord.cli.exits import UsageError
from accord.cli.flags import (
    SECURE_SCHEMES,
    STREAM_SCHEMES,
    WEB_SCHEMES,
    add_web_flags,
    check_flag,
    client_tls,
    duration,
    header,
    read_params,
    read_scheme,
    size,
    structured,
    value,
)
from accord.cli.output import (
    describe,
    error_object,
    paint,
    pretty,
    print_error_line,
    print_json,
    print_line,
    printable,
)
from accord.jsonrpc.methods.router import Router
from accord.jsonrpc.protocol.channel import MIB, Channel, ChannelInfo, Limits, Receiver
from accord.jsonrpc.protocol.codec import check_nesting, decode
from accord.jsonrpc.protocol.errors import RpcError, TransportError, from_wire
from accord.jsonrpc.protocol.messages import Failure, Success
from accord.jsonrpc.runtime.calls import decode_data
from accord.jsonrpc.runtime.peer import DEFAULT_TIMEOUT, Peer
from accord.transports.connect import open_channel
from accord.transports.options import Options
from accord.transports.process import open_process

# accord call


T = TypeVar("T")

LARGEST_ANSWER: Final = 64 * MIB

USAGE: Final = """\
accord call [options] URL METHOD [PARAMS …]
       accord call [options] URL --batch FILE"""

DESCRIPTION: Final = """\
Call a method and print its result.

PARAMS are one JSON array or object, or values by position, or name=value pairs; a value
that is not JSON is a string. A single - reads them, as JSON, from stdin.

URL is tcp://HOST:PORT, tls://…, unix:///PATH, ws://…, wss://…, http://…, https://…, or
stdio: followed by a command to start and to talk to.

examples:
  accord call tcp://127.0.0.1:7000 subtract 42 23
  accord call tcp://127.0.0.1:7000 subtract subtrahend=23 minuend=42
  accord call http://127.0.0.1:8000/rpc echo '[{"any": ["JSON", 1.10]}]' --json
  accord call 'stdio:accord demo stdio:' add 1 2
"""


def configure(parser: Parser) -> None:
    add = parser.add_argument
    add("url", metavar="URL", nargs="?", help="where the method is")
    add("method", metavar="METHOD", nargs="?", help="its name")
    add("params", metavar="PARAMS", nargs="*", help="its parameters")
    add("--notify", action="store_true", help="send a notification, which has no answer")
    add(
        "--batch",
        metavar="FILE",
        help="send the messages of a file (- for stdin) together: a JSON array of messages, "
        "or lines of METHOD PARAMS; print the answers in that order",
    )
    add(
        "--timeout",
        metavar="SECONDS",
        type=duration,
        default=DEFAULT_TIMEOUT,
        help=f"how long to wait, or none (default: {DEFAULT_TIMEOUT:g})",
    )
    add("--json", action="store_true", help="print the exact JSON of the result, or of the error")
    add(
        "--framing",
        choices=("newline", "content-length"),
        help="how messages are told apart on a byte stream (default: newline)",
    )
    add_web_flags(parser)
    add(
        "--answer",
        metavar="METHOD=JSON",
        action="append",
        default=[],
        help="answer so when the other end calls METHOD here; can be repeated",
    )
    add(
        "--max-message-bytes",
        metavar="N",
        type=size,
        default=LARGEST_ANSWER,
        help=f"largest answer to take, or unlimited (default: {LARGEST_ANSWER:,})",
    )
    add("-v", "--verbose", action="store_true", help="show the messages themselves on stderr")


def run(arguments: argparse.Namespace) -> int:
    level = logging.DEBUG if arguments.debug else logging.CRITICAL
    logging.basicConfig(level=level, format="%(levelname)s %(name)s: %(message)s")
    return asyncio.run(_Call(arguments).run())


class _Call:
    """One run of `accord call`: the call, notification or batch of the command line.

    The constructor raises `UsageError` for wrong usage, before anything is sent.
    """

    def __init__(self, arguments: argparse.Namespace) -> None:
        self._url: str = arguments.url
        self._method: str = arguments.method
        self._notify: bool = arguments.notify
        self._timeout: float | None = arguments.timeout
        self._json: bool = arguments.json
        self._verbose: bool = arguments.verbose
        self._options = _options(arguments)
        self._router = _router(arguments.answer)
        self._items: list[BatchItem] | None = None
        if arguments.batch is not None:
            if arguments.method is not None:
                raise UsageError("with --batch the methods stand in the file")
            self._items = _read_items(arguments.batch)
        elif arguments.method is None:
            raise UsageError("a METHOD is missing")
        else:
            self._params = read_params(arguments.params, sys.stdin.buffer.read)

    async def run(self) -> int:
        channel = WireLogChannel(await self._open(), _show if self._verbose else None)
        peer = Peer(channel, self._router, limits=self._options.limits, timeout=self._timeout)
        async with peer:
            code = await _unless(channel.trouble, self._talk(peer))
        if channel.trouble.done() and not self._awaits_answer:
            raise channel.trouble.result()
        return code

    async def _open(self) -> Channel:
        try:
            if self._url.startswith("stdio:"):
                command = shlex.split(self._url.removeprefix("stdio:").removeprefix("//"))
                return await open_process(command, self._options)
            return await open_channel(self._url, self._options)
        except ValueError as error:  # a command that cannot be parsed or started
            raise UsageError(str(error)) from error

    @property
    def _awaits_answer(self) -> bool:
        if self._notify or self._items is None:
            return not self._notify
        return any(item.id is not UNSET for item in self._items)

    async def _talk(self, peer: Peer) -> int:
        if self._items is not None:
            return await self._send_batch(peer, self._items)
        if self._notify:
            await peer.notify(self._method, self._params)
            return exits.OK
        result = await peer.call(self._method, self._params, into=Raw)
        print_line(bytes(result) if self._json else pretty(bytes(result), sys.stdout))
        return exits.OK

    async def _send_batch(self, peer: Peer, items: list[BatchItem]) -> int:
        calls = []
        async with peer.batch() as batch:
            for item in items:
                if self._notify or item.id is UNSET:
                    batch.notify(item.method, item.params)
                else:
                    calls.append((item, batch.call(item.method, item.params)))
        outcomes: list[tuple[BatchItem, Raw | RpcError]] = []
        for item, call in calls:
            try:
                outcomes.append((item, await call.result(Raw)))
            except RpcError as error:
                outcomes.append((item, error))
        self._print_outcomes(outcomes)
        errors = [outcome for _, outcome in outcomes if isinstance(outcome, RpcError)]
        return max(map(exits.exit_code, errors), default=exits.OK)

    def _print_outcomes(self, outcomes: list[tuple[BatchItem, Raw | RpcError]]) -> None:
        if self._json and outcomes:
            print_json([_answer(*outcome) for outcome in outcomes])
        elif not self._json:
            for item, outcome in outcomes:
                print_line(f"{printable(item.method)}: {_result_text(outcome)}")


def _answer(item: BatchItem, outcome: Raw | RpcError) -> Success | Failure:
    """Convert the outcome of a batch item to a JSON-RPC response with the item's id."""
    id: Any = item.id
    if isinstance(outcome, RpcError):
        return Failure(id, error_object(outcome))
    return Success(id, outcome)


def _result_text(outcome: Raw | RpcError) -> str:
    if isinstance(outcome, RpcError):
        return f"{paint('error', 'error', sys.stdout)} {describe(outcome)}"
    return pretty(bytes(outcome), sys.stdout)


def _show(direction: str, data: bytes) -> None:
    arrow = paint(direction, "faint", sys.stderr)
    print_error_line(f"{arrow} {printable(data.decode(errors='backslashreplace'))}")


async def _unless(trouble: asyncio.Future[RpcError], work: Coroutine[Any, Any, T]) -> T:
    """Return the result of `work`, or raise the error in `trouble`.

    `trouble` is a future that gets an error as its result. If that happens before `work` is done,
    `work` is cancelled.
    """
    task = asyncio.get_running_loop().create_task(work)
    either: set[asyncio.Future[Any]] = {task, trouble}
    try:
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        raise trouble.result()
    finally:
        task.cancel()


def _options(arguments: argparse.Namespace) -> Options:
    scheme = read_scheme(arguments.url)
    if scheme == "stdio" and not arguments.url.removeprefix("stdio:").strip("/ "):
        raise UsageError("stdio: needs a command to start, such as 'stdio:python server.py'")
    for flag, is_given, fits in (
        ("--framing", arguments.framing is not None, STREAM_SCHEMES),
        ("--header", bool(arguments.header), WEB_SCHEMES),
        ("--ca", arguments.ca is not None, SECURE_SCHEMES),
        ("--insecure", arguments.insecure, SECURE_SCHEMES),
    ):
        check_flag(flag, given=is_given, scheme=scheme, fits=fits)
    options: dict[str, Any] = {}
    if arguments.framing is not None:
        options["framing"] = arguments.framing
    if arguments.timeout is not None:
        options["connect_seconds"] = min(arguments.timeout, Options().connect_seconds)
    return Options(
        limits=Limits(max_message_bytes=arguments.max_message_bytes),
        tls=client_tls(ca=arguments.ca, insecure=arguments.insecure),
        headers=dict(map(header, arguments.header)),
        **options,
    )


def _router(answers: list[str]) -> Router:
    """Return a router for calls that the peer makes meanwhile.

    Each `--answer METHOD=JSON` adds a method that returns the fixed value JSON.
    """
    router = Router()
    for text in answers:
        name, equals, written = text.partition("=")
        if not equals or not name:
            raise UsageError(f"--answer {text!r} is not of the form METHOD=JSON")
        router.add(_constant(value(written)), name)
    return router


def _constant(result: Raw) -> Any:
    def answer(*_args: Any, **_kwargs: Any) -> Raw:
        return result

    return answer


def _read_items(file: str) -> list[BatchItem]:
    if file == "-":
        return read_batch(sys.stdin.buffer.read())
    try:
        return read_batch(Path(file).read_bytes())
    except OSError as error:
        raise UsageError(f"--batch {file}: {error.strerror}") from None


# Files of messages


class BatchItem(Struct, frozen=True):
    """One message of a batch; without an id it is a notification."""

    method: str
    params: Raw | UnsetType = UNSET
    id: Raw | UnsetType = UNSET
    jsonrpc: Literal["2.0"] = "2.0"


_decode_items = msgspec.json.Decoder(list[BatchItem]).decode
_decode_id = msgspec.json.Decoder(int | float | str | None).decode


def read_batch(data: bytes) -> list[BatchItem]:
    """Return the messages of a batch file, in order.

    A file has one of two forms. A JSON array holds messages as JSON-RPC writes them: messages with
    an `id` are calls, messages without are notifications; `jsonrpc` may be left out. Otherwise each
    line is a call, `METHOD PARAMS`, with params as on the command line; empty lines and lines that
    begin with `#` are skipped. Raises `UsageError` for a file without messages or with an invalid
    one.
    """
    items = _read_array(data) if data.lstrip().startswith(b"[") else _read_lines(data)
    if not items:
        raise UsageError("the batch is empty")
    return items


def _read_array(data: bytes) -> list[BatchItem]:
    try:
        data.decode()
        check_nesting(data)
        items = _decode_items(data)
        for item in items:
            if item.id is not UNSET:
                _decode_id(item.id)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"the batch is no array of messages: {error}") from None
    return [_with_checked_params(item, place) for place, item in enumerate(items)]


def _with_checked_params(item: BatchItem, place: int) -> BatchItem:
    if item.params is UNSET:
        return item
    params = structured(bytes(item.params), f"the params of message {place}")
    return BatchItem(item.method, params, item.id)


def _read_lines(data: bytes) -> list[BatchItem]:
    try:
        lines = data.decode().splitlines()
    except UnicodeDecodeError as error:
        raise UsageError(f"the batch is not UTF-8 at byte {error.start}") from None
    items: list[BatchItem] = []
    for number, line in enumerate(lines, 1):
        line = line.strip()
        if line and not line.startswith("#"):
            items.append(_read_line(line, number, len(items) + 1))
    return items


def _read_line(line: str, number: int, id: int) -> BatchItem:
    method, _, rest = line.partition(" ")
    rest = rest.strip()
    try:
        # A shell would eat the quotes of JSON.
        words = [rest] if rest.startswith(("[", "{")) else shlex.split(rest)
        return BatchItem(method, read_params(words, _no_stdin), Raw(str(id)))
    except (UsageError, ValueError) as error:
        raise UsageError(f"line {number} of the batch: {error}") from None


def _no_stdin() -> bytes:
    raise UsageError("params of a batch cannot come from stdin")


# Messages on the wire


Show = Callable[[str, bytes], None]
"""A function `show(direction, message)` that shows a message; the direction is `-->` or `<--`."""


class WireLogChannel:
    """A wrapper of a channel that shows every message sent or received.

    It also puts the first error that belongs to no call into `trouble`: an error response without
    an id, a received message that was refused, or a notification that was not delivered.
    """

    def __init__(self, channel: Channel, show: Show | None = None) -> None:
        self._channel = channel
        self._show = show
        self._receiver: Receiver | None = None
        self.trouble: asyncio.Future[RpcError] = asyncio.get_running_loop().create_future()
        """The first error that belongs to no call."""

    # As a channel

    @property
    def info(self) -> ChannelInfo:
        return self._channel.info

    @property
    def writable(self) -> bool:
        return self._channel.writable

    def start(self, receiver: Receiver) -> None:
        self._receiver = receiver
        self._channel.start(self)

    def send(self, data: bytes) -> None:
        self._see("-->", data)
        self._channel.send(data)

    def close(self) -> None:
        self._channel.close()

    def abort(self) -> None:
        self._channel.abort()

    # As a receiver

    def message_received(self, data: bytes) -> None:
        self._see("<--", data)
        self._notice_failure(data)
        self._outer.message_received(data)

    def message_refused(self, error: RpcError) -> None:
        self._notice(error)
        self._outer.message_refused(error)

    def reply_received(self, sent: bytes, data: bytes) -> None:
        self._see("<--", data)
        self._outer.reply_received(sent, data)
        self._notice_failure(data)

    def send_failed(self, data: bytes, error: TransportError) -> None:
        self._outer.send_failed(data, error)
        self._notice(error)

    def writable_changed(self, writable: bool) -> None:
        self._outer.writable_changed(writable)

    def input_ended(self) -> None:
        self._outer.input_ended()

    def connection_interrupted(self, error: TransportError) -> None:
        self._outer.connection_interrupted(error)

    def connection_restored(self) -> None:
        self._outer.connection_restored()

    def connection_lost(self, error: TransportError | None) -> None:
        self._outer.connection_lost(error)

    def _see(self, direction: str, data: bytes) -> None:
        if self._show is not None:
            self._show(direction, data)

    def _notice_failure(self, data: bytes) -> None:
        message = None if data.startswith(b"[") else decode(data)
        if isinstance(message, Failure) and message.id is None:
            error = message.error
            known = from_wire(error.code, error.message, decode_data(error.data))
            known.remote = True
            self._notice(known)

    def _notice(self, error: RpcError) -> None:
        if not self.trouble.done():
            self.trouble.set_result(error)

    @property
    def _outer(self) -> Receiver:
        assert self._receiver is not None, "start comes first"
        return self._receiver


COMMANDS: Final = {
    "call": Command(USAGE, DESCRIPTION, configure, run),
}
