"""Which addresses agents may have."""

from __future__ import annotations

import pytest

from accord.a2a.protocol.addresses import AddressPolicy

STRICT = AddressPolicy()
ALL = AddressPolicy(allow_private=True)
LISTED = AddressPolicy(hosts=frozenset({"agents.local"}), networks=("10.1.0.0/16", "fd12::/16"))

PUBLIC = [
    "93.184.216.34",
    "2606:2800:220:1:248:1893:25c8:1946",
    "::ffff:93.184.216.34",
    "64:ff9b::5db8:d822",
]
PRIVATE = [
    "fec0::1",
    *(
        "127.0.0.1",
        "127.8.8.8",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.1.1",
        "100.64.0.1",
        "198.18.0.1",
    ),
    *(
        "::1",
        "fc00::1",
        "fd12::1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "2002:7f00:1::",
        "64:ff9b::7f00:1",
    ),
    "2001:0:4136:e378:8000:63bf:80ff:fffe",  # Teredo for 127.0.0.1
]
LINK_LOCAL = [
    "169.254.169.254",
    "169.254.0.1",
    "fe80::1",
    "fe80::1%eth0",
    "::ffff:169.254.169.254",
    "64:ff9b::a9fe:a9fe",
    "fd00:ec2::254",
]
NO_MACHINE = [
    "0.0.0.0",
    "0.1.2.3",
    "::",
    "224.0.0.1",
    "255.255.255.255",
    "240.0.0.1",
    "ff02::1",
    "localhost",
    "",
]


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_are_allowed(address: str) -> None:
    assert [policy.refusal("a.example", address) for policy in (STRICT, ALL, LISTED)] == [
        "",
        "",
        "",
    ]


@pytest.mark.parametrize("address", PRIVATE)
def test_private_addresses_are_allowed_on_request(address: str) -> None:
    assert "is private" in STRICT.refusal("a.example", address)
    assert ALL.refusal("a.example", address) == ""
    assert LISTED.refusal("Agents.Local.", address) == ""


@pytest.mark.parametrize("address", LINK_LOCAL)
def test_link_local_addresses_are_never_allowed(address: str) -> None:
    everything = AddressPolicy(
        allow_private=True, hosts=frozenset({"a"}), networks=("0.0.0.0/0", "::/0")
    )
    assert all("link-local" in policy.refusal("a", address) for policy in (STRICT, ALL, everything))


@pytest.mark.parametrize("address", NO_MACHINE)
def test_what_is_no_machine_is_never_allowed(address: str) -> None:
    assert all("not" in policy.refusal("a", address) for policy in (STRICT, ALL, LISTED))


@pytest.mark.parametrize(
    ("address", "allowed"),
    [
        ("10.1.2.3", True),
        ("10.2.0.1", False),
        ("fd12::7", True),
        ("::ffff:10.1.0.1", True),
        ("127.0.0.1", False),
    ],
)
def test_networks_are_allowed_by_list(address: str, allowed: bool) -> None:
    assert (LISTED.refusal("elsewhere", address) == "") is allowed


def test_a_network_that_is_none_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="does not appear to be"):
        AddressPolicy(networks=("10.0.0.0/99",))
