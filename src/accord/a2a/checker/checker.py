"""`check`: all rules, one agent, a report.

    card ──▶ the formats that it names ──▶ for each: errors, messages, tasks, streams
      └─ an agent that answers no JSON-RPC is asked in the older plain format once

The agent works for it: a few messages with `text` are sent in each format.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from contextlib import suppress
from typing import Final
from uuid import uuid4

import msgspec
from msgspec import Struct

from accord.a2a.checker.cards import check_card, spoken
from accord.a2a.checker.conversation import Conversation
from accord.a2a.checker.envelope import Nothing, faults, read
from accord.a2a.checker.errors import NO_METHOD, check_errors
from accord.a2a.checker.plain import PLAIN, ask_plainly, is_plain, judge_plain
from accord.a2a.checker.probe import Probe, Seen, Unseen
from accord.a2a.checker.report import Notes, Report
from accord.a2a.checker.rules import RULES
from accord.a2a.checker.sending import Sending
from accord.a2a.checker.streams import check_stream
from accord.a2a.checker.tasks import check_tasks
from accord.a2a.protocol.addresses import AddressPolicy
from accord.a2a.protocol.card import AgentCard
from accord.a2a.protocol.errors import RefusedError, UnknownOutcomeError
from accord.a2a.protocol.versions import Wire
from accord.jsonrpc.errors import ConnectError
from accord.transports.web_address import WebAddress, parse

TEXT: Final = "Hello! This is a test of the connection; a short answer is enough."
TIMEOUT_SECONDS: Final = 30.0
PATIENCE_SECONDS: Final = 60.0
_NOT_OF_A_FORMAT: Final = ("card-", "plain-")


class Asking(Struct, frozen=True, kw_only=True):
    """How to check an agent."""

    wires: tuple[Wire, ...] = ()
    """The formats; those that the card names unless given."""
    plain: bool = False
    """Whether the agent is said to speak the older format."""
    credentials: Mapping[str, str] = {}
    """Headers by which the agent knows who asks."""
    headers: Mapping[str, str] = {}
    policy: AddressPolicy = AddressPolicy()
    text: str = TEXT
    long: str = ""
    """A text that keeps the agent busy for a while, to cancel it then."""
    timeout: float = TIMEOUT_SECONDS
    patience: float = PATIENCE_SECONDS
    tls: ssl.SSLContext | None = None


async def check(url: str, asking: Asking) -> Report:
    """What there is to say about the agent at `url`. Raises CallError where it cannot be
    reached."""
    address, notes = _parse(url), Notes()
    async with Probe(
        policy=asking.policy, timeout=asking.timeout, patience=asking.patience, tls=asking.tls
    ) as probe:
        checker = _Checker(probe, address, asking, notes)
        card = None if asking.plain else await checker.card()
        wires = await (checker.plain() if asking.plain else checker.formats(card))
    return Report(
        url=url,
        agent="" if card is None else f"{card.name} {card.version}".strip(),
        wires=tuple(wires),
        findings=notes.findings(),
    )


class _Checker:
    def __init__(self, probe: Probe, address: WebAddress, asking: Asking, notes: Notes) -> None:
        self._probe = probe
        self._address = address
        self._asking = asking
        self._notes = notes
        self._key = f"check-{uuid4()}"

    async def card(self) -> AgentCard | None:
        headers = {**self._asking.headers, **self._asking.credentials}
        return await check_card(self._probe, self._address, headers, self._notes)

    async def formats(self, card: AgentCard | None) -> list[str]:
        """Check the formats of an agent; those that were."""
        named = {} if card is None else spoken(card)
        checked: list[str] = []
        for wire in self._asking.wires or tuple(named) or (Wire.V03,):
            talk = self._talk(wire, named.get(wire))
            seen = await self._greet(talk)
            if isinstance(read(seen), Nothing):
                if await self._is_plain(seen):
                    return [PLAIN]
                self._give_up(talk, seen)
            else:
                await self._check_format(talk, card)
            checked.append(wire)
        return checked

    async def plain(self) -> list[str]:
        """Check the older format. Raises CallError for an agent that is not there."""
        seen = await self._ask_plainly()
        if isinstance(seen, Unseen) and seen.unreachable:
            raise UnknownOutcomeError("unreachable", seen.why)
        judge_plain(seen, self._key, self._notes)
        return [PLAIN]

    def _talk(self, wire: Wire, url: str | None) -> Conversation:
        address = self._address
        if url is not None:
            with suppress(RefusedError):  # the rules for cards tell of it
                address = _parse(url)
        # A card must not be able to send credentials elsewhere, nor headers that may be some.
        ours = _origin(address) == _origin(self._address)
        return Conversation(
            self._probe,
            address,
            wire,
            self._notes,
            headers=self._asking.headers if ours else {},
            credentials=self._asking.credentials if ours else {},
            key=self._key,
        )

    async def _greet(self, talk: Conversation) -> Seen | Unseen:
        """What comes of a request that costs nothing. Raises CallError for an agent that is not
        there."""
        request = {"jsonrpc": "2.0", "id": "1", "method": NO_METHOD, "params": {}}
        seen = await talk.look(msgspec.json.encode(request))
        if isinstance(seen, Unseen) and seen.unreachable:
            raise UnknownOutcomeError("unreachable", seen.why)
        return seen

    async def _is_plain(self, greeted: Seen | Unseen) -> bool:
        """Whether the agent speaks the older format, of which the report then tells."""
        if isinstance(greeted, Unseen):
            return False
        seen = await self._ask_plainly()
        if not is_plain(seen):
            return False
        judge_plain(seen, self._key, self._notes)
        return True

    async def _ask_plainly(self) -> Seen | Unseen:
        headers = {**self._asking.headers, **self._asking.credentials}
        return await ask_plainly(self._probe, self._address, headers, self._asking.text, self._key)

    def _give_up(self, talk: Conversation, seen: Seen | Unseen) -> None:
        talk.judge(faults(seen, "1"))
        talk.failed("error-method", f"it was {read(seen)}")
        for rule in RULES:
            if not rule.startswith(_NOT_OF_A_FORMAT):
                talk.skipped(rule, "the agent does not answer JSON-RPC")

    async def _check_format(self, talk: Conversation, card: AgentCard | None) -> None:
        asking = self._asking
        await self._check_credentials(talk)
        await check_errors(talk)
        sending = Sending(talk, asking.text, asking.patience)
        answer = await sending.check()
        await check_tasks(talk, sending, answer, asking.long)
        await check_stream(talk, asking.text, card)
        talk.conclude()

    async def _check_credentials(self, talk: Conversation) -> None:
        if not self._asking.credentials:
            talk.skipped("auth-needed", "no credentials were given")
            return
        request = {"jsonrpc": "2.0", "id": "1", "method": NO_METHOD, "params": {}}
        seen = await talk.look(msgspec.json.encode(request), credentials=False)
        if isinstance(seen, Unseen):
            talk.failed("auth-needed", seen.why)
        elif seen.status != 401:
            talk.failed("auth-needed", f"it was HTTP {seen.status}")
        elif "www-authenticate" not in seen.headers:
            talk.failed("auth-needed", "the header WWW-Authenticate is missing")
        else:
            talk.passed("auth-needed")


def _parse(url: str) -> WebAddress:
    try:
        address = parse(url)
    except ConnectError as error:
        raise RefusedError("url", error.message) from error
    if address.scheme not in ("http", "https"):
        raise RefusedError("url", f"agents are reached by http or https, not {address.scheme}")
    return address


def _origin(address: WebAddress) -> tuple[str, str, int]:
    return address.scheme, address.host, address.port
