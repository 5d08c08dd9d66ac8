"""`Accounts`: authenticates callers, and signs users in and out.

A token is looked up for every request, by an indexed read that begins after the request arrived. So
a revoked token, a deactivated owner or a removed role takes effect for the very next request, in
every process. All invalid credentials get the same answer; the audit trail has the reason.
"""

from __future__ import annotations

import asyncio
import hmac
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

from accord.operations.audit.record import AuditSink, Record
from accord.operations.audit.states import TOKENS, USERS, ProvenRows, StateRecorder
from accord.operations.auth import storage
from accord.operations.auth.attempts import FailedAttempts, SignInAttempts
from accord.operations.auth.credentials import (
    BatchedLookup,
    LastUseWriter,
    RequestCredentials,
    make_token,
    token_hash,
    token_kind,
)
from accord.operations.auth.passwords import Passwords, random_password
from accord.operations.auth.server_key import ServerKey
from accord.operations.auth.users import FirstRun, SignedIn, User, username_key
from accord.operations.context import SYSTEM, Caller, Face, Via, new_id, utc_now
from accord.operations.errors import (
    KINDS,
    ForbiddenError,
    Limiter,
    RateLimitedError,
    ServiceError,
    ServiceUnavailableError,
    UnauthenticatedError,
)
from accord.operations.storage import LANE
from accord.store.store import Row, Store, StoreError, StoreUnavailableError, Transaction
from accord.telemetry.metrics import Exposition

MAX_PASSWORD: Final = 256
MAX_CLIENT: Final = 200
MAX_DELAYED: Final = 200
"""Maximum number of sign-in attempts that are delayed at once."""
FAILED_COST: Final = 10
"""The cost of a request with an invalid token, taken from the bucket of its address."""


class SignInError(ServiceError):
    """An unknown username or a wrong password; the message does not say which."""

    kind = KINDS["unauthenticated"]

    def __init__(self) -> None:
        super().__init__("the username or the password is wrong")


class Accounts:
    """The accounts of one installation.

    Call `close` at the end, so that pending writes are not lost.
    """

    def __init__(
        self,
        store: Store,
        key: ServerKey,
        *,
        trail: AuditSink | None = None,
        limiter: Limiter | None = None,
        states: StateRecorder | None = None,
        now: Callable[[], str] = utc_now,
        new_id: Callable[[], str] = new_id,
    ) -> None:
        self.passwords = Passwords()
        self.token_key = key.derive("tokens")
        """The key of the token hashes."""
        self._session_key = key.derive("login sessions")
        self._csrf_key = key.derive("csrf")
        self._store = store
        self._trail = trail
        self._states = states
        self.failed_attempts = (
            None if trail is None else FailedAttempts(trail, now=now, new_id=new_id)
        )
        """Records failed authentications, also those of webhooks."""
        self._limiter = limiter
        self._now = now
        self._new_id = new_id
        self._sign_ins = SignInAttempts(store, key.derive("sign-in attempts"))
        self._slowed = 0
        self._signed_in = 0
        self._failures: Counter[tuple[str, str]] = Counter()
        self._tokens = BatchedLookup(store, storage.FIND_TOKENS)
        self._sessions = BatchedLookup(store, storage.FIND_SESSIONS)
        self._tokens_used = LastUseWriter(store, storage.TOUCH_TOKEN, lane=LANE, now=now)
        self._sessions_seen = LastUseWriter(store, storage.TOUCH_SESSION, lane=LANE, now=now)

    async def close(self) -> None:
        """Write pending last-used times and records, and shut down the password threads."""
        await self.flush()
        if self.failed_attempts is not None:
            self.failed_attempts.flush()
        self.passwords.close()

    async def flush(self) -> None:
        """Write the last-used times of tokens and sessions."""
        await self._tokens_used.flush()
        await self._sessions_seen.flush()

    # Authentication

    async def caller(self, credentials: RequestCredentials) -> Caller:
        """Return the caller with these credentials.

        Raises UnauthenticatedError, always with the same message; ForbiddenError for a page's
        request without its CSRF token; RateLimitedError after too many failures from one address;
        ServiceUnavailableError if the database cannot be read.
        """
        try:
            return await self._known(credentials)
        except StoreUnavailableError as error:
            raise ServiceUnavailableError(error.told) from error

    @property
    def may_know_now(self) -> bool:
        """True if the database is read synchronously, so that `caller_now` can succeed."""
        return self._tokens.are_quick

    def caller_now(self, credentials: RequestCredentials) -> Caller | None:
        """Return the caller of a valid token without waiting, or None.

        None means that `caller` must be awaited, which also raises the errors.
        """
        token = credentials.token
        if credentials.by_cookie or token_kind(token) != "pat":
            return None
        hashed = token_hash(token, self.token_key)
        try:
            row = self._checked(self._tokens.find_now(hashed), hashed)
            return self._token_caller(row, credentials)
        except (StoreError, _InvalidCredentialsError):
            return None

    async def _known(self, credentials: RequestCredentials) -> Caller:
        kind = token_kind(credentials.token)
        try:
            if kind == "pat" and not credentials.by_cookie:
                hashed = token_hash(credentials.token, self.token_key)
                row = self._checked(await self._tokens.find(hashed), hashed)
                return self._token_caller(row, credentials)
            if kind == "ses":
                return await self._session_caller(credentials)
            raise _InvalidCredentialsError("malformed", None)
        except _InvalidCredentialsError as unknown:
            if credentials.token:
                await self._charge(unknown, kind, credentials)
            elif credentials.face != "web":  # pages redirect visitors without a session
                self._failed("authenticate", "missing", credentials)
            raise UnauthenticatedError from None

    def refused(self, reason: str, credentials: RequestCredentials) -> None:
        """Record the refusal of a request whose credentials were not looked up.

        `reason` is the error in the audit record, such as `missing`.
        """
        self._failed("authenticate", reason, credentials)

    def wrong_own_password(self, caller: Caller) -> None:
        """Record that a signed-in user gave a wrong current password to change it."""
        origin = _client_credentials(
            caller.face, caller.client, caller.address, caller.correlation_id
        )
        owner = (caller.user_id, caller.username)
        self._failed(
            "change_own_password", "wrong_password", origin, owner=owner, target=caller.username
        )

    async def _charge(
        self, unknown: _InvalidCredentialsError, kind: str | None, origin: RequestCredentials
    ) -> None:
        """Record invalid credentials, and charge the bucket of their address.

        Raises RateLimitedError if the bucket has too little left.
        """
        token_id = unknown.row["id"] if unknown.row and kind == "pat" else ""
        reason = unknown.reason
        try:
            if self._limiter is not None and origin.address:
                await self._limiter.take((f"address:{origin.address}",), FAILED_COST)
        except RateLimitedError:
            reason = "rate_limited"
            raise
        finally:
            owner = _owner_of(unknown.row)
            self._failed("authenticate", reason, origin, owner=owner, token_id=token_id)

    def _token_caller(self, row: Row, origin: RequestCredentials) -> Caller:
        if row["revoked_at"] is not None:
            raise _InvalidCredentialsError("revoked", row)
        if row["expires_at"] <= self._now():
            raise _InvalidCredentialsError("expired", row)
        self._tokens_used.note(row["id"])
        scopes = storage.scope_set(row["scopes"])
        return _caller(row, "token", origin, scopes=scopes, token_id=row["id"])

    async def _session_caller(self, credentials: RequestCredentials) -> Caller:
        token = credentials.token
        hashed = token_hash(token, self._session_key)
        row = self._checked(await self._sessions.find(hashed), hashed)
        now = self._now()
        if row["expires_at"] <= now or row["seen_at"] <= storage.idle_since(now):
            raise _InvalidCredentialsError("expired", row)
        if credentials.by_cookie and not credentials.safe:
            expected = storage.csrf_token(token, self._csrf_key)
            if not hmac.compare_digest(expected.encode(), credentials.csrf.encode()):
                self._failed("authenticate", "csrf", credentials, owner=_owner_of(row))
                raise ForbiddenError("the header X-CSRF-Token is missing or of another session")
        self._sessions_seen.note(row["hash"])
        return _caller(row, "session", credentials)

    def _checked(self, row: Row | None, hashed: str) -> Row:
        if row is None or not hmac.compare_digest(row["hash"], hashed):
            raise _InvalidCredentialsError("unknown", None)
        if not row["active"]:
            raise _InvalidCredentialsError("inactive", row)
        return row

    # Signing in and out

    async def sign_in(
        self,
        username: str,
        password: str,
        *,
        face: Face = "rest",
        client: str = "",
        address: str = "",
        correlation_id: str = "",
        previous: RequestCredentials | None = None,
    ) -> SignedIn:
        """Begin a session with a new token, and end the browser's `previous` session.

        Raises SignInError for an unknown username or a wrong password, RateLimitedError after
        several wrong passwords, and ServiceUnavailableError if the attempt cannot be processed now.
        """
        origin = _client_credentials(face, client, address, correlation_id)
        name = username_key(username)[:64]
        try:
            await self._pace(name, address, origin)
            row = await self._store.read(lambda db: storage.find_user_row(db, username))
            if not await self._is_right(row, password):
                # An unknown name is not recorded: it may be a password typed into the wrong field.
                known = "" if row is None else row["username"]
                self._failed("sign_in", _failure_reason(row), origin, target=known)
                raise SignInError
            assert row is not None
            signed_in = await self._begin(row, password, origin, previous)
            await self._sign_ins.succeeded(name, address)
        except StoreUnavailableError as error:
            raise ServiceUnavailableError(error.told) from error
        self._signed_in += 1
        return signed_in

    async def sign_out(self, credentials: RequestCredentials, caller: Caller) -> None:
        """End the session that these credentials belong to, if there is one."""
        if token_kind(credentials.token) != "ses":
            return
        hashed = token_hash(credentials.token, self._session_key)

        async def work(transaction: Transaction) -> None:
            if await transaction.execute(storage.END_SESSION, hashed) and self._trail is not None:
                await self._trail.write(transaction, self._record("sign_out", caller))

        await self._store.transact(work, lane=LANE)

    def session_id(self, credentials: RequestCredentials) -> str:
        """Return the public id of the session that these credentials belong to."""
        return storage.session_id(token_hash(credentials.token, self._session_key))

    def csrf_token(self, credentials: RequestCredentials) -> str:
        """Return the CSRF token of the session that these credentials belong to."""
        return storage.csrf_token(credentials.token, self._csrf_key)

    async def _pace(self, name: str, address: str, origin: RequestCredentials) -> None:
        pace = await self._sign_ins.begin(name, address)
        if pace.wait > 0:
            self._failed("sign_in", "rate_limited", origin)
            raise RateLimitedError(pace.wait)
        if pace.delay > 0:
            if self._slowed >= MAX_DELAYED:
                self._failed("sign_in", "rate_limited", origin)
                raise RateLimitedError(pace.delay)
            self._slowed += 1
            try:
                await asyncio.sleep(pace.delay)
            finally:
                self._slowed -= 1

    async def _is_right(self, row: Row | None, password: str) -> bool:
        """Return True for the password of an active user.

        Takes equally long for an unknown user, so that timing does not reveal usernames.
        """
        hashed = "" if row is None or len(password) > MAX_PASSWORD else row["password_hash"]
        right = await self.passwords.verify(password[:MAX_PASSWORD], hashed)
        return right and row is not None and bool(row["active"])

    async def _begin(
        self,
        row: Row,
        password: str,
        origin: RequestCredentials,
        previous: RequestCredentials | None,
    ) -> SignedIn:
        # The password was verified outside the transaction, as hashing takes tens of milliseconds:
        # the row is read again below, and a password changed meanwhile ends the attempt.
        token = make_token("ses")
        now = self._now()
        hashed = row["password_hash"]
        caller = Caller(
            user_id=row["id"],
            username=row["username"],
            role=row["role"],
            via="session",
            face=origin.face,
            client=origin.client,
            address=origin.address,
            correlation_id=origin.correlation_id,
        )
        better = await self.passwords.hash(password) if self.passwords.is_outdated(hashed) else None

        async def work(transaction: Transaction) -> tuple[User, str] | None:
            [user] = await transaction.fetch(storage.USER_BY_ID, row["id"])
            if not user["active"] or user["password_hash"] != hashed:
                return None  # changed while the password was being verified
            if better is not None:
                await transaction.execute(storage.REHASH_PASSWORD, row["id"], hashed, better)
            if previous is not None and previous.token:
                old = token_hash(previous.token, self._session_key)
                await transaction.execute(storage.END_SESSION, old)
            ends = await storage.insert_session(
                transaction,
                hashed=token_hash(token, self._session_key),
                user_id=row["id"],
                client=origin.client,
                address=origin.address,
                now=now,
            )
            if self._trail is not None:
                record = self._record("sign_in", caller)
                if better is not None:
                    record = await self._proven(transaction, record, (USERS, row["id"]))
                await self._trail.write(transaction, record)
            return storage.user_of(user), ends

        begun = await self._store.transact(work, lane=LANE)
        if begun is None:
            self._failed("sign_in", "changed", origin, target=row["username"])
            raise SignInError
        user, ends = begun
        csrf = storage.csrf_token(token, self._csrf_key)
        return SignedIn(token=token, csrf_token=csrf, expires_at=ends, user=user)

    # The first run

    async def first_run(self) -> FirstRun | None:
        """Create the first administrator, with a random password and an access token.

        Returns the name, the password and the token, which are stored nowhere else in plain text;
        None if there has ever been an administrator.
        """
        if not await self._store.read(storage.needs_first_run):
            return None
        password = random_password()
        hashed = await self.passwords.hash(password)

        async def work(transaction: Transaction) -> FirstRun | None:
            if not await storage.needs_first_run(transaction):
                return None
            made, user = await storage.insert_first_administrator(
                transaction,
                password=password,
                hashed=hashed,
                key=self.token_key,
                new_id=self._new_id,
                now=self._now(),
            )
            if self._trail is not None:
                record = self._record("first_run", SYSTEM, target=user.username)
                token_id = await storage.first_token_id(transaction, user.id)
                made_of = ((USERS, user.id), (TOKENS, token_id))
                await self._trail.write(
                    transaction, await self._proven(transaction, record, *made_of)
                )
            return made

        return await self._store.transact(work, lane=LANE)

    # Metrics

    def expose(self, page: Exposition) -> None:
        """Write the counters of sign-ins and authentication failures for Prometheus."""
        page.family(
            "accord_sign_ins_total", "counter", "Sessions that began.", [((), self._signed_in)]
        )
        page.family(
            "accord_authentication_failures_total",
            "counter",
            "Wrong passwords (sign_in) and wrong or missing credentials (authenticate), by reason.",
            (
                ((("operation", operation), ("reason", reason)), count)
                for (operation, reason), count in sorted(self._failures.items())
            ),
        )

    # Audit records

    def _failed(
        self,
        operation: str,
        reason: str,
        origin: RequestCredentials,
        *,
        owner: tuple[str, str] = ("", ""),
        target: str = "",
        token_id: str = "",
    ) -> None:
        self._failures[operation, reason] += 1
        if self.failed_attempts is None:
            return
        self.failed_attempts.add(
            Record(
                id=self._new_id(),
                time=self._now(),
                actor_id=owner[0],
                actor=owner[1],
                via="",
                token_id=token_id,
                operation=operation,
                target=target,
                outcome="unauthenticated",
                error=reason,
                face=origin.face,
                client=origin.client,
                address=origin.address,
                correlation_id=origin.correlation_id,
            )
        )

    async def _proven(
        self, transaction: Transaction, record: Record, *of: tuple[ProvenRows, str]
    ) -> Record:
        """Store the current states of the rows `of` an audit record.

        Returns the record with the hash of the states; unchanged, if no states are stored here.
        """
        if self._states is None:
            return record
        return await self._states.keep_of(transaction, record, *of)

    def _record(self, operation: str, caller: Caller, target: str = "") -> Record:
        return Record(
            id=self._new_id(),
            time=self._now(),
            actor_id=caller.user_id,
            actor=caller.username,
            via=caller.via,
            face=caller.face,
            client=caller.client,
            address=caller.address,
            operation=operation,
            target=target,
            correlation_id=caller.correlation_id,
        )


def _owner_of(row: Row | None) -> tuple[str, str]:
    """Return the id and name of the account that a token or session belongs to."""
    return ("", "") if row is None else (row["user_id"], row["username"])


def _failure_reason(row: Row | None) -> str:
    """Return the reason of a failed sign-in for the audit record.

    The caller does not learn the reason.
    """
    if row is None:
        return "unknown_user"
    return "wrong_password" if row["active"] else "inactive"


class _InvalidCredentialsError(Exception):
    """Credentials that are invalid; `row` is the token or session found, if any."""

    def __init__(self, reason: str, row: Row | None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.row = row


def _client_credentials(
    face: Face, client: str, address: str, correlation_id: str
) -> RequestCredentials:
    """Return credentials with the origin of a request, but without a token or cookie."""
    return RequestCredentials(
        face=face, client=client[:MAX_CLIENT], address=address, correlation_id=correlation_id
    )


def _caller(row: Row, via: Via, origin: RequestCredentials, **more: Any) -> Caller:
    return Caller(
        user_id=row["user_id"],
        username=row["username"],
        role=row["role"],
        via=via,
        face=origin.face,
        client=origin.client,
        address=origin.address,
        correlation_id=origin.correlation_id,
        traceparent=origin.traceparent,
        expires_at=row["expires_at"],
        **more,
    )
