"""The checks of an agent's card."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from accord.a2a.checker.probes import Probe, ProbeFailure, ProbeResponse
from accord.a2a.checker.rules import FindingCollector
from accord.a2a.protocol.card import WELL_KNOWN, AgentCard, read_card
from accord.a2a.protocol.fields import Wire
from accord.jsonrpc.protocol.errors import ConnectError
from accord.transports.urls import WebAddress, parse_web_address

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
    probe: Probe, address: WebAddress, headers: Mapping[str, str], findings: FindingCollector
) -> AgentCard | None:
    """Check an agent's card; return it if it can be read."""
    response = await _find(probe, address, headers, findings)
    if response is None:
        for rule in _RULES_AFTER_CARD:
            findings.skipped(rule, "there is no card")
        return None
    findings.passed("card-found")
    if response.content_type == "application/json":
        findings.passed("card-type")
    else:
        findings.failed("card-type", f"the type is {response.content_type[:80]!r}")
    problems = problems_of(response.json)
    if problems:
        findings.failed("card-members", "; ".join(problems))
    else:
        findings.passed("card-members")
    return _read(response, address, findings)


async def _find(
    probe: Probe, address: WebAddress, headers: Mapping[str, str], findings: FindingCollector
) -> ProbeResponse | None:
    why = ""
    for place in card_urls(address):
        response = await probe.ask("GET", place, {**headers, "accept": "application/json"})
        if isinstance(response, ProbeResponse) and response.status == 200:
            return response
        found = (
            response.why if isinstance(response, ProbeFailure) else f"it was HTTP {response.status}"
        )
        why = why or f"{place}: {found}"
    findings.failed("card-found", why)
    return None


def card_urls(address: WebAddress) -> list[WebAddress]:
    """Return the addresses where a card may be: the URL, below it, at the root."""
    if address.path.endswith(".json"):
        return [address]
    paths = dict.fromkeys((address.path.rstrip("/") + WELL_KNOWN, WELL_KNOWN))
    return [WebAddress(address.scheme, address.host, address.port, path) for path in paths]


def _read(
    response: ProbeResponse, address: WebAddress, findings: FindingCollector
) -> AgentCard | None:
    try:
        card = read_card(response.body)
    except ValueError as error:
        findings.failed("card-interface", str(error))
        findings.skipped("card-address", "the card cannot be read")
        return None
    found = card.interface()
    if found is None:
        named = ", ".join(f"{each.binding} {each.version}" for each in card.interfaces)
        findings.failed("card-interface", f"it names {named[:200]}")
        findings.skipped("card-address", "there is no such interface")
        return card
    findings.passed("card-interface", f"{found[0].url} speaks {found[1]}")
    _compare(found[0].url, address, findings)
    return card


def _compare(url: str, address: WebAddress, findings: FindingCollector) -> None:
    try:
        named = parse_web_address(url)
    except ConnectError as error:
        findings.failed("card-address", error.message)
        return
    if (named.scheme, named.host, named.port) == (address.scheme, address.host, address.port):
        findings.passed("card-address")
    else:
        findings.failed("card-address", f"the card is at {address.authority}, the agent at {url}")


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
