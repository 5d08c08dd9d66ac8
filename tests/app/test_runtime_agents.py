"""Private addresses are allowed by the settings, and who is refused one is told how."""

from __future__ import annotations

import pytest

from accord.a2a.protocol.addresses import AddressPolicy
from accord.app.runtime import agent_addresses
from accord.app.settings import Settings


@pytest.mark.req("W-17")
def test_a_refusal_names_the_setting_the_flag_and_the_variable() -> None:
    refusal = agent_addresses(Settings()).refusal("localhost", "127.0.0.1")
    for name in ("--allow-agents", "setting allow_agents", "ACCORD_ALLOW_AGENTS"):
        assert name in refusal
    assert refusal.startswith("127.0.0.1 is private, and not allowed here: start accord with")


@pytest.mark.req("W-17")
def test_the_library_names_its_policy() -> None:
    refusal = AddressPolicy().refusal("localhost", "127.0.0.1")
    assert "`hosts`" in refusal
    assert "--allow-agents" not in refusal


def test_what_the_settings_name_is_allowed() -> None:
    policy = agent_addresses(Settings(allow_agents=["Agents.Example.", "10.0.0.0/8"]))
    assert policy.refusal("agents.example", "127.0.0.1") == ""
    assert policy.refusal("other.example", "10.1.2.3") == ""
    assert policy.refusal("other.example", "127.0.0.1") != ""
