"""Agent cards of both formats: read, chosen from, and written for readers of either."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from accord.a2a.protocol.card import (
    AgentCard,
    Interface,
    Provider,
    Skill,
    bearer_scheme,
    card_wire,
    encode_card,
    read_card,
)
from accord.a2a.protocol.fields import Wire
from tests.a2a.schemas import validate

CARD = AgentCard(
    name="shouter",
    description="Says things louder.",
    version="1.2.3",
    interfaces=(
        Interface(url="https://a.example/", version="1.0", tenant="acme"),
        Interface(url="https://a.example/", version="0.3"),
    ),
    skills=(
        Skill(id="shout", name="Shout", description="Louder.", tags=("text",), examples=("hi",)),
    ),
    streaming=True,
    push_notifications=True,
    extended_card=True,
    provider=Provider(organization="Us", url="https://example.com"),
    documentation_url="https://example.com/docs",
    icon_url="https://example.com/icon.png",
    security_schemes={"bearer": bearer_scheme()},
)


def test_a_card_comes_back_as_it_was() -> None:
    assert read_card(encode_card(CARD)) == CARD
    small = AgentCard(name="a", description="", version="1", interfaces=(Interface(url="u"),))
    assert read_card(encode_card(small)) == small


OF_03 = {
    *("url", "protocolVersion", "preferredTransport", "additionalInterfaces", "security"),
    "supportsAuthenticatedExtendedCard",
}
OF_10 = {"supportedInterfaces", "securityRequirements"}


@pytest.mark.req("W-27")
def test_a_card_is_what_the_official_schema_of_0_3_says() -> None:
    more = replace(
        CARD, interfaces=(*CARD.interfaces, Interface(url="https://b.example/", version="0.3"))
    )
    for card in (CARD, more, SCHEMES):
        written = json.loads(encode_card(card, Wire.V03))
        assert not written.keys() & OF_10
        validate(written, "AgentCard")


@pytest.mark.req("W-27")
def test_a_card_of_1_0_has_no_member_of_0_3() -> None:
    for card in (CARD, replace(CARD, interfaces=CARD.interfaces[:1]), SCHEMES):
        written = json.loads(encode_card(card, Wire.V10))
        assert not written.keys() & OF_03
        for scheme in written["securitySchemes"].values():
            assert "type" not in scheme


@pytest.mark.req("W-27")
def test_security_schemes_are_spelled_as_the_format_does() -> None:
    assert json.loads(encode_card(SCHEMES, Wire.V10))["securitySchemes"] == {
        "key": {"apiKeySecurityScheme": {"location": "header", "name": "X-Key"}},
        "old": {"apiKeySecurityScheme": {"location": "query", "name": "key"}},
        "tls": {"mtlsSecurityScheme": {}},
    }
    assert json.loads(encode_card(SCHEMES, Wire.V03))["securitySchemes"] == {
        "key": {"type": "apiKey", "in": "header", "name": "X-Key"},
        "old": {"type": "apiKey", "in": "query", "name": "key"},
        "tls": {"type": "mutualTLS"},
    }
    odd = replace(CARD, security_schemes={"a": 1, "b": {"type": "own"}})
    for wire in Wire:
        schemes = json.loads(encode_card(odd, wire))["securitySchemes"]
        assert schemes == {"a": 1, "b": {"type": "own"}}


SCHEMES = replace(
    CARD,
    security_schemes={
        "key": {"apiKeySecurityScheme": {"location": "header", "name": "X-Key"}},
        "old": {"type": "apiKey", "in": "query", "name": "key"},
        "tls": {"mtlsSecurityScheme": {}},
    },
)


@pytest.mark.req("W-27")
@pytest.mark.parametrize(
    ("versions", "asked", "wire"),
    [
        (("1.0", "0.3"), "", Wire.V10),
        (("1.0", "0.3"), "1.0", Wire.V10),
        (("1.0", "0.3"), "0.3", Wire.V03),
        (("0.3", "1.0"), "", Wire.V03),
        (("0.3", "1.0"), "1.0.1", Wire.V10),
        (("1.0",), "0.3", Wire.V10),
        (("0.3",), "", Wire.V03),
        (("0.3",), "1.0", Wire.V10),
        (("0.3",), "7.0", Wire.V03),
        (("7.0",), "", Wire.V10),
    ],
)
def test_a_card_is_written_as_it_is_asked_for(
    versions: tuple[str, ...], asked: str, wire: Wire
) -> None:
    interfaces = tuple(Interface(url="u", version=each) for each in versions)
    assert card_wire(replace(CARD, interfaces=interfaces), asked) is wire


def test_a_card_without_an_interface_of_0_3_says_nothing_of_one() -> None:
    card = replace(CARD, interfaces=CARD.interfaces[:1])
    assert not json.loads(encode_card(card)).keys() & OF_03


def test_a_card_of_0_3_is_read() -> None:
    card = read_card(b"""{"name": "old", "description": null, "url": "https://o.example/rpc",
        "protocolVersion": "0.3.0", "preferredTransport": "GRPC", "capabilities": {"streaming": true},
        "additionalInterfaces": [{"url": "https://o.example/json", "transport": "JSONRPC"},
                                 {"url": "https://o.example/rpc", "transport": "GRPC"}],
        "supportsAuthenticatedExtendedCard": true, "skills": null, "unknown": 1}""")
    assert card == AgentCard(
        name="old",
        description="",
        version="",
        interfaces=(
            Interface(url="https://o.example/rpc", binding="GRPC", version="0.3.0"),
            Interface(url="https://o.example/json", version="0.3.0"),
        ),
        streaming=True,
        extended_card=True,
        input_modes=(),
        output_modes=(),
    )
    assert card.interface() == (card.interfaces[1], Wire.V03)


def test_the_order_of_interfaces_is_the_agents_preference() -> None:
    assert CARD.interface() == (CARD.interfaces[0], Wire.V10)
    assert CARD.interface(Wire.V03) == (CARD.interfaces[1], Wire.V03)
    newer = replace(CARD, interfaces=(Interface(url="u", version="2.0"),))
    assert newer.interface() is None


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"<html>", "the agent card is not valid: JSON is malformed: invalid character (byte 0)"),
        (b'{"name": 1}', "the agent card is not valid: Expected `str`, got `int` - at `$.name`"),
        (b'{"name": "a"}', "the agent card names no interface"),
        (b"[" * 100_000, "the agent card is not valid: nested deeper than 128 levels"),
    ],
)
def test_what_is_wrong_with_a_card_is_said(body: bytes, why: str) -> None:
    with pytest.raises(ValueError, match="agent card") as caught:
        read_card(body)
    assert str(caught.value) == why
