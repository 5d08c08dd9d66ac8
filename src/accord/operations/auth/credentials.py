"""Credentials of requests: tokens, cookies, client addresses, batched look-ups.

A token is a prefix that states its kind, 30 random characters and a checksum of 6 characters. A
text with a wrong checksum was mistyped or made up, so it is not looked up in the database. Scanners
of leaked secrets find tokens by their prefix and recognize real ones by the checksum.

Browsers send cookies on their own, also with requests that other sites cause. A request that
changes something and comes with a cookie must therefore repeat, in a header that only our own pages
can set, a token of the session (CSRF).

`X-Forwarded-For` can be written by anybody. It is read from its end, up to the first address that
is not a trusted proxy's; that address is the client's.

On PostgreSQL, look-ups of many requests share one statement. A request that arrives during a read
waits for the next one, so it sees every change made before it arrived. Recording the last use of a
token costs a request one dictionary look-up; last-used times are written in batches, for each token
at most once a minute.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import re
import secrets
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from hashlib import sha256
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final, Literal, TypeAlias
from zlib import crc32

from msgspec import Struct

from accord.operations.context import Face
from accord.store.store import Engine, Row, Store, StoreError, Transaction

TokenKind: TypeAlias = Literal["pat", "ses"]
"""A personal access token, or a login session."""

RANDOM_LENGTH: Final = 30
CHECKSUM_LENGTH: Final = 6
SHOWN_LENGTH: Final = 4
"""The number of a token's random characters that lists of tokens show."""

MAX_TOKEN_DAYS: Final = 365
DEFAULT_TOKEN_DAYS: Final = 90
"""The lifetime of access tokens in days, if none is given."""

_DIGITS: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_PAIRS: Final = tuple(first + second for first in _DIGITS for second in _DIGITS)
_TOKEN: Final = re.compile(r"accord_(pat|ses)_([0-9A-Za-z]{30})([0-9A-Za-z]{6})", re.ASCII)


def make_token(kind: TokenKind) -> str:
    """Return a new random token."""
    random = "".join(secrets.choice(_DIGITS) for _ in range(RANDOM_LENGTH))
    return f"accord_{kind}_{random}{_checksum(f'accord_{kind}_{random}')}"


def token_kind(text: str) -> TokenKind | None:
    """Return the kind of a token; None for a text that cannot be a token."""
    match = _TOKEN.fullmatch(text)
    if match is None or _checksum(text[:-CHECKSUM_LENGTH]) != match[3]:
        return None
    return "pat" if match[1] == "pat" else "ses"


def shown_prefix(token: str) -> str:
    """Return the beginning of a token, by which its owner recognizes it."""
    return token[: len("accord_pat_") + SHOWN_LENGTH]


def token_hash(token: str, key: bytes) -> str:
    """Return the keyed hash under which a token is stored."""
    # Not hmac.digest: it releases the GIL, and waiting for it again costs more than the hash.
    return hmac.new(key, token.encode(), sha256).hexdigest()


def _checksum(text: str) -> str:
    """Return the CRC32 of a text in base 62, in 6 characters."""
    rest, last = divmod(crc32(text.encode()), len(_PAIRS))
    first, middle = divmod(rest, len(_PAIRS))
    return _PAIRS[first] + _PAIRS[middle] + _PAIRS[last]


class BatchedLookup:
    """A look-up of rows by hash, which reads the rows of many requests at once.

    `statements` is the SQL by database engine; its results have a column `hash`. Belongs to one
    event loop.
    """

    def __init__(self, store: Store, statements: Mapping[Engine, str]) -> None:
        self._store = store
        self._statement = statements[store.engine]
        self.are_quick = store.engine == "sqlite"
        """True if rows are read synchronously, so that `find_now` can succeed."""
        self._waiting: dict[str, list[asyncio.Future[Row | None]]] = {}
        self._reading: asyncio.Task[None] | None = None

    async def find(self, hashed: str) -> Row | None:
        """Return the row with this hash.

        Raises StoreError if the database fails.
        """
        if self.are_quick:
            rows = await self._store.fetch(self._statement, hashed)
            return rows[0] if rows else None
        loop = asyncio.get_running_loop()
        found: asyncio.Future[Row | None] = loop.create_future()
        self._waiting.setdefault(hashed, []).append(found)
        if self._reading is None:
            self._reading = loop.create_task(self._read_all())
        return await found

    def find_now(self, hashed: str) -> Row | None:
        """Return the row with this hash if it can be read without waiting, or None.

        Raises StoreError if the database fails.
        """
        rows = self._store.fetch_now(self._statement, hashed) if self.are_quick else None
        return rows[0] if rows else None

    async def _read_all(self) -> None:
        try:
            while self._waiting:
                # A request that arrives during this read must not be answered by it, or it could
                # miss a change made just before it arrived: it goes into the next batch.
                batch, self._waiting = self._waiting, {}
                await self._read(batch)
        finally:
            self._reading = None
            for futures in self._waiting.values():
                for future in futures:
                    future.cancel()

    async def _read(self, batch: Mapping[str, list[asyncio.Future[Row | None]]]) -> None:
        waiting = [(hashed, future) for hashed, some in batch.items() for future in some]
        try:
            rows = await self._store.fetch(self._statement, list(batch))
        except StoreError as error:
            for _, future in waiting:
                if not future.done():
                    future.set_exception(error)
            return
        except BaseException:
            for _, future in waiting:
                future.cancel()
            raise
        found = {row["hash"]: row for row in rows}
        for hashed, future in waiting:
            if not future.done():
                future.set_result(found.get(hashed))


log = logging.getLogger("accord.accounts")

EVERY_SECONDS: Final = 60.0
BATCH_SECONDS: Final = 2.0
MAX_NOTED: Final = 10_000


class LastUseWriter:
    """Writes last-used times of one process in batches.

    `statement` writes one time: `$1` is the id, `$2` the time.
    """

    def __init__(self, store: Store, statement: str, *, lane: str, now: Callable[[], str]) -> None:
        self._store = store
        self._statement = statement
        self._lane = lane
        self._now = now
        self._noted: dict[str, float] = {}
        """The time of the last recorded use of each id, by the clock of the loop, oldest first."""
        self._pending: dict[str, str] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._writing: asyncio.Task[None] | None = None

    def note(self, id: str) -> None:
        """Record that the token or session with this id was used just now."""
        loop = asyncio.get_running_loop()
        time = loop.time()
        if time - self._noted.get(id, -EVERY_SECONDS) < EVERY_SECONDS:
            return
        # Re-insert the id at the end, so that the dictionary stays ordered by age and the first key
        # is the one to evict.
        self._noted.pop(id, None)
        self._noted[id] = time
        if len(self._noted) > MAX_NOTED:
            del self._noted[next(iter(self._noted))]
        if len(self._pending) < MAX_NOTED:
            self._pending[id] = self._now()
        if self._timer is None:
            self._timer = loop.call_later(BATCH_SECONDS, self._begin)

    async def flush(self) -> None:
        """Write all recorded times now, before their batch is due."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._writing is not None:
            await self._writing
        await self._write()

    def _begin(self) -> None:
        self._timer = None
        if self._writing is None:
            self._writing = asyncio.get_running_loop().create_task(self._write())
            self._writing.add_done_callback(self._written)

    def _written(self, task: asyncio.Task[None]) -> None:
        self._writing = None
        if self._pending and self._timer is None and not task.cancelled():
            self._timer = task.get_loop().call_later(BATCH_SECONDS, self._begin)

    async def _write(self) -> None:
        pending, self._pending = self._pending, {}
        if not pending:
            return

        async def work(transaction: Transaction) -> None:
            for id, time in pending.items():
                await transaction.execute(self._statement, id, time)

        try:
            await self._store.transact(work, lane=self._lane)
        except StoreError as error:
            # No call fails because of this; the next use, a minute later, notes it again.
            log.warning("cannot write when %d tokens were used: %s", len(pending), error)


MAX_HOPS: Final = 16


class Addresses:
    """The trusted proxies of one installation, and the client addresses behind them.

    Raises ValueError if a text in `trusted` is no network.
    """

    def __init__(self, trusted: Iterable[str] = ()) -> None:
        self._trusted = [ip_network(each, strict=False) for each in trusted]
        self.has_proxies = bool(self._trusted)
        """True if there are trusted proxies, whose headers are read."""

    def client(self, peer: str, fields: Mapping[str, str]) -> str:
        """Return the address of the client that sent a request.

        `peer` is the other end of the connection, with or without its port. Returns an empty string
        if the peer has no address, as with a Unix socket.
        """
        known = _parse_address(peer)
        if known is None:
            return ""
        address, text = known
        if not self._is_trusted(address):
            return text
        for hop in reversed(fields.get("x-forwarded-for", "").split(",")[-MAX_HOPS:]):
            behind = _parse_address(hop.strip())
            if behind is None:
                break
            address, text = behind
            if not self._is_trusted(address):
                break
        return text

    def is_secure(self, peer: str, scheme: str, fields: Mapping[str, str]) -> bool:
        """Return True if the client used https, to us or to a trusted proxy."""
        if scheme == "https":
            return True
        known = _parse_address(peer)
        if known is None or not self._is_trusted(known[0]):
            return False
        return fields.get("x-forwarded-proto", "").strip().lower() == "https"

    def _is_trusted(self, address: IPv4Address | IPv6Address) -> bool:
        return any(address in network for network in self._trusted)


def _parse_address(text: str) -> tuple[IPv4Address | IPv6Address, str] | None:
    """Parse `1.2.3.4`, `1.2.3.4:80`, `::1` or `[::1]:80`.

    Returns the address and its canonical text without the port; None for an invalid address.
    """
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    return _address(text)


@lru_cache(1024)
def _address(text: str) -> tuple[IPv4Address | IPv6Address, str] | None:
    try:
        address = ip_address(text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    address = mapped or address
    return address, str(address)


COOKIE: Final = "accord_session"
SECURE_COOKIE: Final = "__Host-accord_session"
"""The cookie's name over https: only this host, and only over https, can set such a cookie."""
CSRF_HEADER: Final = "x-csrf-token"

SESSION_DAYS: Final = 30
"""Maximum lifetime of a login session."""
SESSION_SECONDS: Final = SESSION_DAYS * 24 * 60 * 60

SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
MAX_TOKEN: Final = 256
"""Maximum length of a text that may be a token; longer texts are not examined."""

_BEARER: Final = re.compile(r"bearer +([!-~]+)", re.IGNORECASE)


class RequestCredentials(Struct, frozen=True, kw_only=True):
    """The credentials presented by a request, and the origin of the request."""

    bearer: str = ""
    cookie: str = ""
    """The session token in a cookie; used if there is no bearer token."""
    csrf: str = ""
    safe: bool = False
    """True for a request with a safe method: GET, HEAD or OPTIONS."""
    secure: bool = False
    """True for a request that came by https."""
    face: Face = "rest"
    client: str = ""
    """The name of the client program, as it calls itself."""
    address: str = ""
    correlation_id: str = ""
    traceparent: str = ""
    """The span that the request belongs to, if its client sent one."""

    def __repr__(self) -> str:
        presented = [name for name in ("bearer", "cookie", "csrf") if getattr(self, name)]
        return f"RequestCredentials({', '.join(presented)})"

    @property
    def token(self) -> str:
        return self.bearer or self.cookie

    @property
    def by_cookie(self) -> bool:
        return not self.bearer and bool(self.cookie)


def credentials_in(
    method: str, fields: Mapping[str, str], *, secure: bool = False
) -> RequestCredentials:
    """Read the credentials from header fields with lower-case names.

    `secure` is True for https, also if only a proxy in front of this server uses https.
    """
    return RequestCredentials(
        bearer=bearer_in(fields),
        cookie=_cookie(fields.get("cookie", ""), SECURE_COOKIE if secure else COOKIE),
        csrf=fields.get(CSRF_HEADER, "")[:MAX_TOKEN],
        safe=method in SAFE_METHODS,
    )


def bearer_in(fields: Mapping[str, str]) -> str:
    """Return the bearer token; any `Authorization` value counts as a token.

    A request with this header must not fall back to the cookie: the client meant to use the header.
    """
    authorization = fields.get("authorization", "")
    found = _BEARER.fullmatch(authorization)
    return found[1][: MAX_TOKEN + 1] if found else authorization[:MAX_TOKEN]


def bearer(token: str) -> RequestCredentials:
    """Return credentials with a bearer token only."""
    return RequestCredentials(bearer=token[: MAX_TOKEN + 1])


def session_cookie(token: str, *, secure: bool, max_age: int) -> str:
    """Return the value of `Set-Cookie` for a new session."""
    name = SECURE_COOKIE if secure else COOKIE
    end = "; Secure" if secure else ""
    return f"{name}={token}; Path=/; HttpOnly; SameSite=Lax; Max-Age={max_age}{end}"


def expired_cookie(*, secure: bool) -> str:
    """Return the value of `Set-Cookie` that removes the session cookie."""
    return session_cookie("", secure=secure, max_age=0)


def _cookie(header: str, name: str) -> str:
    """Return the value of the first cookie with this name (RFC 6265, section 4.2.1)."""
    for pair in header.split(";")[:100]:
        key, equals, value = pair.strip(" \t").partition("=")
        if equals and key == name:
            return value.strip('"')[: MAX_TOKEN + 1]
    return ""
