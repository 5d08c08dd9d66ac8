"""Which capability a method belongs to."""

from __future__ import annotations

import pytest

from accord.mcp.protocol.definitions import Feature, feature_of


@pytest.mark.req("M-24")
@pytest.mark.parametrize(
    ("method", "feature"),
    [
        ("tools/call", "tools"),
        ("resources/templates/list", "resources"),
        ("prompts/get", "prompts"),
        ("completion/complete", "completions"),
        ("tasks/result", "tasks"),
        ("ping", None),
        ("initialize", None),
        ("logging/setLevel", None),
        ("server/discover", None),
        ("subscriptions/listen", None),
        ("toolshed", None),
    ],
)
def test_a_method_belongs_to_a_capability(method: str, feature: Feature | None) -> None:
    assert feature_of(method) == feature
