"""A small shop of test operations on a database, with accounts, served over real HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Annotated, Any, Literal
from uuid import uuid4

import httpx
from msgspec import UNSET, Meta, Struct, UnsetType, to_builtins

from accord.app.site import SystemSite
from accord.jsonrpc.protocol.channel import Limits
from accord.operations.adapters.rest import RestApp
from accord.operations.adapters.rpc import RpcApp
from accord.operations.audit.record import Record
from accord.operations.auth import storage
from accord.operations.auth.accounts import Accounts
from accord.operations.auth.server_key import ServerKey
from accord.operations.auth.storage import insert_first_administrator
from accord.operations.context import (
    Changed,
    Effect,
    Hint,
    OperationContext,
    default_scopes,
    utc_now,
)
from accord.operations.errors import (
    Allowance,
    ConflictError,
    ForbiddenError,
    InvalidError,
    Limiter,
    MalformedRequestError,
    NotFoundError,
    RateLimitedError,
    ServiceError,
    ServiceUnavailableError,
    StaleError,
    UnauthenticatedError,
)
from accord.operations.operation import Rest
from accord.operations.registry import Registry
from accord.operations.runner import Runner
from accord.store import Store, open_store
from accord.store.store import Transaction
from accord.transports.http.server import listen_web
from accord.transports.options import Options
from tests.plain_http import NO_TLS

Id = Annotated[str, Meta(min_length=1, max_length=64)]
Title = Annotated[str, Meta(min_length=1, max_length=100)]
Tag = Annotated[str, Meta(min_length=1, max_length=20)]
Version = Annotated[int, Meta(ge=1)]

TABLE = "CREATE TABLE pens (id text PRIMARY KEY, title text NOT NULL, price bigint NOT NULL, version bigint NOT NULL)"


class Pen(Changed, kw_only=True):
    id: str
    title: str
    price: int
    version: int


class Pens(Struct, kw_only=True):
    items: list[Pen]
    next_cursor: str | None
    has_more: bool
    total: int


class Delivered(Changed, kw_only=True):
    lines: int
    pens: int


class Gone(Changed, kw_only=True):
    deleted: str


class Found(Struct, kw_only=True):
    tags: list[str]
    limit: int
    colour: str | None
    cheap: bool


operations = Registry()

FAILURES: dict[str, ServiceError] = {
    "malformed_request": MalformedRequestError("it cannot be read"),
    "validation_failed": InvalidError("title", "is too long", longest=5),
    "unauthenticated": UnauthenticatedError(),
    "insufficient_permissions": ForbiddenError("not for you", required_scope="write"),
    "not_found": NotFoundError("there is no pen 'x'"),
    "conflict": ConflictError("it has children", children=["a", "b"]),
    "version_mismatch": StaleError("it has the version 4, not 3", difference=[{"field": "title"}]),
    "rate_limited": RateLimitedError(1.5),
    "unavailable": ServiceUnavailableError("not now"),
}


async def _row(work: OperationContext, id: str) -> Any:
    rows = await work.db.fetch("SELECT * FROM pens WHERE id = $1", id)
    if not rows:
        raise NotFoundError(f"there is no pen {id!r}")
    return rows[0]


def _pen(row: Any) -> Pen:
    return Pen(id=row["id"], title=row["title"], price=row["price"], version=row["version"])


@operations.read(rest=Rest("GET", "/pens/{id}"), tag="pens")
async def get_pen(work: OperationContext, *, id: Id) -> Pen:
    """Get one pen."""
    return _pen(await _row(work, id))


@operations.read(rest=Rest("GET", "/pens"), tag="pens")
async def list_pens(
    work: OperationContext,
    *,
    limit: Annotated[int, Meta(ge=1, le=100)] = 20,
    cursor: Annotated[str, Meta(max_length=64)] | None = None,
) -> Pens:
    """List pens in the order of their ids."""
    rows = await work.db.fetch(
        "SELECT * FROM pens WHERE id > $1 ORDER BY id LIMIT $2", cursor or "", limit + 1
    )
    [total] = await work.db.fetch("SELECT count(*) AS n FROM pens")
    items = [_pen(row) for row in rows[:limit]]
    more = len(rows) > limit
    return Pens(
        items=items,
        next_cursor=items[-1].id if more else None,
        has_more=more,
        total=total["n"],
    )


@operations.read(rest=Rest("GET", "/pens/cheapest"), tag="pens")
async def get_cheapest_pen(work: OperationContext) -> Pen:
    """Get the pen that costs least."""
    rows = await work.db.fetch("SELECT * FROM pens ORDER BY price, id LIMIT 1")
    if not rows:
        raise NotFoundError("there are no pens")
    return _pen(rows[0])


@operations.read(rest=Rest("GET", "/found", aliases=(("c", "colour"),)), tag="pens")
async def find_pens(
    work: OperationContext,
    *,
    tags: list[Tag] = [],  # noqa: B006 - msgspec copies it
    limit: Annotated[int, Meta(ge=1, le=100)] = 20,
    colour: Literal["red", "blue"] | None = None,
    cheap: bool = False,
) -> Found:
    """Say what was asked for."""
    return Found(tags=tags, limit=limit, colour=colour, cheap=cheap)


@operations.write(rest=Rest("POST", "/pens", status=201, location="/pens/{id}"), tag="pens")
async def create_pen(work: OperationContext, *, id: Id, title: Title, price: int = 1) -> Pen:
    """Create a pen."""
    if await work.db.fetch("SELECT id FROM pens WHERE id = $1", id):
        raise ConflictError(f"there is a pen {id!r} already")
    await work.db.execute("INSERT INTO pens VALUES ($1, $2, $3, 1)", id, title, price)
    work.record(Effect(action="created", kind="pen", id=id, version=1, after={"title": title}))
    if price > 100:
        work.hint(Hint(code="dear", message="nobody will buy it"))
    return Pen(id=id, title=title, price=price, version=1)


@operations.write(rest=(Rest("PATCH", "/pens/{id}"), Rest("PUT", "/pens/{id}")), tag="pens")
async def update_pen(
    work: OperationContext,
    *,
    id: Id,
    title: Title | UnsetType = UNSET,
    price: int | UnsetType = UNSET,
    expected_version: Version | None = None,
) -> Pen:
    """Change a pen."""
    pen = _pen(await _row(work, id))
    if expected_version is not None and expected_version > pen.version:
        raise InvalidError("expected_version", f"it has only {pen.version} as yet")
    if expected_version is not None and expected_version != pen.version:
        raise StaleError(
            f"it has the version {pen.version}, not {expected_version}",
            difference=[{"field": "title", "after": pen.title}],
        )
    pen.title = pen.title if title is UNSET else title
    pen.price = pen.price if price is UNSET else price
    pen.version += 1
    await work.db.execute(
        "UPDATE pens SET title = $2, price = $3, version = $4 WHERE id = $1",
        *(id, pen.title, pen.price, pen.version),
    )
    work.record(Effect(action="updated", kind="pen", id=id, version=pen.version))
    return pen


@operations.write(rest=Rest("POST", "/pens/{id}/sharpen"), tag="pens", right="admin")
async def sharpen_pen(work: OperationContext, *, id: Id, expected_version: Version) -> Pen:
    """Sharpen a pen, whose version must be known."""
    pen = _pen(await _row(work, id))
    if pen.version != expected_version:
        raise StaleError(f"it has the version {pen.version}")
    return pen


@operations.write(rest=Rest("DELETE", "/pens/{id}", status=204), tag="pens", right="delete")
async def delete_pen(work: OperationContext, *, id: Id, force: bool = False) -> Gone:
    """Delete a pen."""
    await _row(work, id)
    await work.db.execute("DELETE FROM pens WHERE id = $1", id)
    work.record(Effect(action="deleted", kind="pen", id=id))
    return Gone(deleted=id)


async def _sell(work: OperationContext, arguments: Mapping[str, Any], result: Any) -> Any:
    """What follows once it is written down that something came in."""
    [row] = await work.db.fetch("SELECT count(*) AS n FROM pens")
    counted = result if isinstance(result, dict) else to_builtins(result)
    return Delivered(lines=counted["lines"], pens=row["n"])


@operations.write(
    rest=Rest("POST", "/deliveries", 202, whole="note", texts=("text/csv",)),
    tag="pens",
    finish=_sell,
)
async def deliver_pens(work: OperationContext, *, note: dict[str, int] | str) -> Delivered:
    """Take a delivery: prices by title, or lines of CSV."""
    lines = note.splitlines() if isinstance(note, str) else [f"{k},{v}" for k, v in note.items()]
    for line in lines:
        title, _, price = line.partition(",")
        if not price.isdecimal() or len(price) > 9 or not 0 < len(title) <= 64:
            raise InvalidError("note", "has lines of a title and a price")
        await work.db.execute("INSERT INTO pens VALUES ($1, $1, $2, 1)", title, int(price))
        work.record(Effect(action="created", kind="pen", id=title, version=1))
    return Delivered(lines=len(lines), pens=0)


@operations.read(rest=Rest("GET", "/failures/{name}"), tag="failures")
async def fail(work: OperationContext, *, name: Id) -> Pen:
    """Fail in the way that is named."""
    if name in FAILURES:
        raise FAILURES[name]
    if name == "division-by-zero":
        raise ZeroDivisionError("the secret of the machine room")
    raise NotFoundError(f"there is no failure {name!r}")


class Trail:
    """Records, in a list."""

    def __init__(self) -> None:
        self.records: list[Record] = []

    async def write(self, transaction: Any, record: Record) -> None:
        self.records.append(record)

    def enqueue(self, record: Record) -> None:
        self.records.append(record)


class Bucket:
    """One bucket for all, which never fills again."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._left = size

    async def take(self, keys: tuple[str, ...], cost: int) -> Allowance:
        if self._left < cost:
            raise RateLimitedError(2.5, Allowance(self._size, self._left, 60, 60))
        self._left -= cost
        return Allowance(self._size, self._left, 60, 60)


class Shop:
    """The shop, served."""

    def __init__(
        self,
        store: Store,
        accounts: Accounts,
        trail: Trail,
        runner: Runner,
        *,
        token: str,
    ) -> None:
        self.store = store
        self.accounts = accounts
        self.trail = trail
        self.runner = runner
        self.token = token
        self.client: httpx.AsyncClient
        self.url = ""

    async def get(self, path: str, **options: Any) -> httpx.Response:
        return await self.client.get(f"/api/v1{path}", **options)

    async def post(self, path: str, **options: Any) -> httpx.Response:
        return await self.client.post(f"/api/v1{path}", **options)

    async def patch(self, path: str, **options: Any) -> httpx.Response:
        return await self.client.patch(f"/api/v1{path}", **options)

    async def delete(self, path: str, **options: Any) -> httpx.Response:
        return await self.client.delete(f"/api/v1{path}", **options)

    async def pen(self, id: str = "p1", title: str = "Pen", **more: Any) -> httpx.Response:
        return await self.post("/pens", json={"id": id, "title": title, **more})

    async def rpc(self, body: Any, **options: Any) -> httpx.Response:
        return await self.client.post("/rpc", json=body, **options)

    async def call(self, method: str, **params: Any) -> Any:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return (await self.rpc(body)).json()


async def _administrator(store: Store, accounts: Accounts) -> str:
    """As at the first run, without the time that hashing a password takes; a token for it all."""

    async def work(transaction: Transaction) -> str:
        _, user = await insert_first_administrator(
            transaction,
            password="",
            hashed="",
            key=accounts.token_key,
            new_id=lambda: str(uuid4()),
            now=utc_now(),
        )
        made = await storage.insert_token(
            transaction,
            id=str(uuid4()),
            user_id=user.id,
            username=user.username,
            name="everything",
            scopes=default_scopes("Administrator"),
            days=1,
            key=accounts.token_key,
            now=utc_now(),
        )
        assert isinstance(made.token, str)
        return made.token

    return await store.transact(work)


@asynccontextmanager
async def shop_at(
    url: str,
    *,
    limiter: Limiter | None = None,
    rest: dict[str, Any] | None = None,
    rpc: dict[str, Any] | None = None,
) -> AsyncIterator[Shop]:
    """A shop on an empty database, and a client of it with an administrator's token."""
    async with open_store(url, durable=False) as store:
        await store.migrate("operations", files("accord.operations") / "migrations")
        await store.execute(TABLE)
        trail = Trail()
        accounts = Accounts(store, ServerKey(b"k" * 32), trail=trail)
        token = await _administrator(store, accounts)
        runner = Runner(operations, store, trail, limiter=limiter)
        shop = Shop(store, accounts, trail, runner, token=token)
        site = SystemSite(
            {
                "/api/v1": RestApp(runner, accounts, title="Pens", **(rest or {})),
                "/rpc": RpcApp(runner, accounts, title="Pens", **(rpc or {})),
            }
        )
        options = Options(limits=Limits(max_message_bytes=100_000))
        listener = await listen_web("http://127.0.0.1:0", site, options)
        shop.url = listener.url
        headers = {"authorization": f"Bearer {token}"}
        try:
            async with httpx.AsyncClient(
                base_url=shop.url, headers=headers, verify=NO_TLS
            ) as client:
                shop.client = client
                yield shop
        finally:
            await site.close(1.0)
            await listener.close()
            await accounts.close()
