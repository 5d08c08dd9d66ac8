"""The checks of an agent's card."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from accord.a2a.checker.probes import Probe, ProbeFailure, ProbeResponse
from accord.a2a.checker.rules import FindingCollector
from accord.a2a.protocol.card import WELL_KNOWN, AgentCard, read_card
from accord.a2a.protocol.fields import Wire
from accord.jsonrpc.errors import ConnectError
from accord.transports.web_address import WebAddress, parse

_CARD_MEMBERS: Final = {
    "name": str,
    "description": str,
    "version": str,
    "capabilities": dict,
    "defaultInputModes": list,
    "defaultOutputModes": list,
    "skills": list,
}
_CARD_MEMBERS_03: Final = {"url": str, "protocolVersion": str}
_CARD_MEMBERS_10: Final = {"supportedInterfaces": list}
_SKILL_MEMBERS: Final = {"id": str, "name": str, "description": str, "tags": list}
_INTERFACE_MEMBERS: Final = {"url": str, "protocolBinding": str, "protocolVersion": str}
_RULES_AFTER_CARD: Final = ("card-type", "card-members", "card-interface", "card-address")


async def check_card(
    probe: Probe, address: WebAddress, headers: Mapping[str, str], notes: FindingCollector
) -> AgentCard | None:
    """Check an agent's card; return it if it can be read."""
    seen = await _find(probe, address, headers, notes)
    if seen is None:
        for rule in _RULES_AFTER_CARD:
            notes.skipped(rule, "there is no card")
        return None
    notes.passed("card-found")
    if seen.content_type == "application/json":
        notes.passed("card-type")
    else:
        notes.failed("card-type", f"the type is {seen.content_type[:80]!r}")
    problems = problems_of(seen.json)
    if problems:
        notes.failed("card-members", "; ".join(problems))
    else:
        notes.passed("card-members")
    return _read(seen, address, notes)


async def _find(
    probe: Probe, address: WebAddress, headers: Mapping[str, str], notes: FindingCollector
) -> ProbeResponse | None:
    why = ""
    for place in card_urls(address):
        seen = await probe.ask("GET", place, {**headers, "accept": "application/json"})
        if isinstance(seen, ProbeResponse) and seen.status == 200:
            return seen
        found = seen.why if isinstance(seen, ProbeFailure) else f"it was HTTP {seen.status}"
        why = why or f"{place}: {found}"
    notes.failed("card-found", why)
    return None


def card_urls(address: WebAddress) -> list[WebAddress]:
    """Return the addresses where a card may be: the URL, below it, at the root."""
    if address.path.endswith(".json"):
        return [address]
    paths = dict.fromkeys((address.path.rstrip("/") + WELL_KNOWN, WELL_KNOWN))
    return [WebAddress(address.scheme, address.host, address.port, path) for path in paths]


def _read(seen: ProbeResponse, address: WebAddress, notes: FindingCollector) -> AgentCard | None:
    try:
        card = read_card(seen.body)
    except ValueError as error:
        notes.failed("card-interface", str(error))
        notes.skipped("card-address", "the card cannot be read")
        return None
    found = card.interface()
    if found is None:
        named = ", ".join(f"{each.binding} {each.version}" for each in card.interfaces)
        notes.failed("card-interface", f"it names {named[:200]}")
        notes.skipped("card-address", "there is no such interface")
        return card
    notes.passed("card-interface", f"{found[0].url} speaks {found[1]}")
    _compare(found[0].url, address, notes)
    return card


def _compare(url: str, address: WebAddress, notes: FindingCollector) -> None:
    try:
        named = parse(url)
    except ConnectError as error:
        notes.failed("card-address", error.message)
        return
    if (named.scheme, named.host, named.port) == (address.scheme, address.host, address.port):
        notes.passed("card-address")
    else:
        notes.failed("card-address", f"the card is at {address.authority}, the agent at {url}")


def problems_of(value: Any) -> list[str]:
    """Return the members of a card that are missing or of the wrong type."""
    if not isinstance(value, dict):
        return ["it is no JSON object"]
    problems = _member_problems(value, _CARD_MEMBERS, "")
    old, new = "url" in value, "supportedInterfaces" in value
    if old or not new:
        problems += _member_problems(value, _CARD_MEMBERS_03, "")
    if new:
        problems += _member_problems(value, _CARD_MEMBERS_10, "")
        problems += _list_problems(
            value["supportedInterfaces"], _INTERFACE_MEMBERS, "supportedInterfaces"
        )
    return problems + _list_problems(value.get("skills"), _SKILL_MEMBERS, "skills")


def _list_problems(listed: Any, members: Mapping[str, type], name: str) -> list[str]:
    if not isinstance(listed, list):
        return []
    return [
        problem
        for place, each in enumerate(listed)
        for problem in _member_problems(each, members, f"{name}[{place}].")
    ]


def _member_problems(value: Any, members: Mapping[str, type], where: str) -> list[str]:
    if not isinstance(value, dict):
        return [f"{where.rstrip('.')} is no object"]
    problems = [f"{where}{name} is missing" for name in members if name not in value]
    return problems + [
        f"{where}{name} is of the wrong type"
        for name, kind in members.items()
        if name in value and not isinstance(value[name], kind)
    ]


def named_wires(card: AgentCard) -> dict[Wire, str]:
    """Return the JSON-RPC formats that a card names, each with its URL."""
    found: dict[Wire, str] = {}
    for wire in Wire:
        reached = card.interface(wire)
        if reached is not None:
            found[wire] = reached[0].url
    return found
